/**
 * The permitted imports between the folders of `src/`. The linter's rules are made from these tables.
 * test/house.test.ts checks that the linter reports each import that they forbid.
 */

/**
 * A folder of `src/`, the folders that it may import besides itself (`disk:port`: only their contract), and the reason.
 */
export type Wall = readonly [folder: string, sees: readonly string[], reason: string];

const PORTS = ["storage:port", "worktree:port", "disk:port"];
const CONTRACT = ["util", "core", "api"];
const SURFACES = ["server", "hooks", "client", "process", "open.ts"];
const ENGINE = ["disk", "storage:port", "worktree", "engine"];
const SURFACE = "a surface uses the contract (api), and has no rules of its own";

export const WALLS: readonly Wall[] = [
  ["util", [], "util knows nothing of Chronicle"],
  ["core", ["util"], "core has only values and pure algorithms, and uses nothing above it"],
  ["disk", ["util", "core"], "disk knows only bytes and files"],
  ["storage", ["util", "core", "disk"], "a backend uses only the ports, core, disk and its driver"],
  ["worktree", ["util", "core", "disk"], "worktree knows only files; worktree and storage do not know each other"],
  ["api", ["util", "core"], "the contract knows only core"],
  ["engine", [...CONTRACT, ...PORTS], "the engine uses the ports, but no backend, and nothing above it"],
  ["replication", [...CONTRACT, "engine", ...PORTS], "replication uses the engine and the ports, but no backend"],
  [
    "store",
    [...CONTRACT, ...ENGINE],
    "the files of a store know neither the surfaces nor the code that opens the store",
  ],
  [
    "workers",
    [...CONTRACT, "disk", "storage", "worktree", "engine"],
    "the code of worker threads knows neither the surfaces nor the code that starts the threads",
  ],
  [
    "backends",
    [...CONTRACT, "disk", "storage", "store", "workers"],
    "the registry chooses the backends of a store, and knows nothing that is built on them",
  ],
  [
    "compose",
    [...CONTRACT, ...ENGINE, "replication", "store", "workers", "open.ts"],
    "a composition root uses the ports (backends/ chooses their implementations), and no surface",
  ],
  ["server", CONTRACT, SURFACE],
  ["mcp", CONTRACT, SURFACE],
  ["hooks", CONTRACT, SURFACE],
  ["client", CONTRACT, SURFACE],
  [
    "process",
    [...CONTRACT, "disk"],
    "process knows the surroundings of a process, but no command and nothing of the engine",
  ],
  ["daemon", [...CONTRACT, "disk", ...SURFACES], "the long-lived process uses open.ts, not the engine"],
  ["cli", [...CONTRACT, "disk", "mcp", "daemon", ...SURFACES], "the command line uses open.ts, not the engine"],
];

const ENGINE_ROOMS = ["log", "state", "commit", "facts", "capture", "actions", "read", "undo", "write", "upkeep"];

/**
 * Folder → its subfolders, in order. Each subfolder may import those before it. The folder's own files may import all
 * of its subfolders.
 */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  core: ["values", "text", "tree", "filter", "shell", "log", "records"],
  worktree: ["files", "git", "scan", "apply", "outside", "memory", "disk"],
  engine: [...ENGINE_ROOMS, "records", "replica"],
  replication: ["protocol", "channels", "contents", "replica", "origin", "folder"],
  "replication/folder": ["ground", "paths", "link", "cycle", "sync"],
  server: ["limits", "callers", "answers", "gateway", "replicas", "page"],
  cli: ["table", "render", "remote", "resident", "support", "agents", "serving", "syncing", "watching", "commands"],
};

/** The backends of storage. No backend may import another one. */
export const BACKENDS: readonly string[] = ["memory", "files", "sqlite"];
