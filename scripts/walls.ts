/** The walls of the house: who may import what. The linter's rules are made of it; test/house.test.ts proves each. */

/** A folder of `src/`, what it may import besides itself ("disk:port": its contract only), and the reason. */
export type Wall = readonly [folder: string, sees: readonly string[], reason: string];

const PORTS = ["storage:port", "worktree:port", "disk:port"];
const CONTRACT = ["util", "core", "api"];
const SURFACES = ["server", "hooks", "client", "process", "open.ts"];
const ENGINE = ["disk", "storage:port", "worktree", "engine"];
const SURFACE = "a surface speaks the contract (api) and holds no rules";

export const WALLS: readonly Wall[] = [
  ["util", [], "util knows no domain word and nothing of Chronicle"],
  ["core", ["util"], "core is pure nouns and algorithms: nothing above it"],
  ["disk", ["util", "core"], "disk knows bytes and files only"],
  ["storage", ["util", "core", "disk"], "a backend sees ports, core, disk and its driver"],
  ["worktree", ["util", "core", "disk"], "worktree knows files only; storage and worktree are blind to one another"],
  ["api", ["util", "core"], "the contract knows only core"],
  ["engine", [...CONTRACT, ...PORTS], "the engine sees ports, never a backend, and nothing above it"],
  ["replication", [...CONTRACT, "engine", ...PORTS], "replication sees the engine and ports, never a backend"],
  ["store", [...CONTRACT, ...ENGINE], "a store's files know neither surfaces nor who opens them"],
  [
    "workers",
    [...CONTRACT, "disk", "storage", "worktree", "engine"],
    "the code of worker threads knows neither surfaces nor who starts it",
  ],
  [
    "backends",
    [...CONTRACT, "disk", "storage", "store", "workers"],
    "the registry chooses the backends of a store, and knows nothing that is made of them",
  ],
  [
    "compose",
    [...CONTRACT, ...ENGINE, "replication", "store", "workers", "open.ts"],
    "a composition root sees ports (backends/ names what stands behind them), and no surface",
  ],
  ["server", CONTRACT, SURFACE],
  ["mcp", CONTRACT, SURFACE],
  ["hooks", CONTRACT, SURFACE],
  ["client", CONTRACT, SURFACE],
  ["process", [...CONTRACT, "disk"], "the surroundings of a process: no command, and nothing of the engine"],
  ["daemon", [...CONTRACT, "disk", ...SURFACES], "the long-lived process speaks to open.ts, not to the engine"],
  ["cli", [...CONTRACT, "disk", "mcp", "daemon", ...SURFACES], "the command line speaks to open.ts, not to the engine"],
];

const ENGINE_ROOMS = ["log", "state", "commit", "facts", "capture", "actions", "read", "undo", "write", "upkeep"];

/**
 * The subfolders of a folder, in order: each may import those before it, and the folder's own files may import all of
 * them.
 */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  core: ["values", "text", "tree", "filter", "shell", "log", "records"],
  worktree: ["files", "git", "scan", "apply", "outside", "memory", "disk"],
  engine: [...ENGINE_ROOMS, "records", "replica"],
  replication: ["protocol", "channels", "contents", "replica", "origin", "folder"],
  "replication/folder": ["ground", "paths", "link", "cycle", "sync"],
  server: ["limits", "callers", "answers", "gateway", "replicas"],
  cli: ["table", "render", "remote", "resident", "support", "agents", "serving", "syncing", "commands"],
};

/** The backends of storage: none knows another. */
export const BACKENDS: readonly string[] = ["memory", "files", "sqlite"];
