import type { CommandSpec, OptionSpec } from "./spec.ts";

/** Options of `undo` and `changes` that select somebody's work. */
export const SELECTION_OPTIONS: readonly OptionSpec[] = [
  { flags: "--action <id>", description: "of one action: its id, or the agent's own id of the call" },
  { flags: "--turn <id>", description: "of a turn of an agent (last: the one that changed something last)" },
  { flags: "--session <id>", description: "of a run, a watch or an agent's session", completes: "session" },
  { flags: "--actor <name>", description: "of an actor" },
  { flags: "--file <path>", description: "of everybody, to this path and beneath it", completes: "path" },
  { flags: "--since <moment>", description: "of everybody, since a moment (10m, 3, seq:40)", completes: "moment" },
];

/** Options that decide whether a person at a terminal is asked before files are changed. */
export const ASKING: readonly OptionSpec[] = [
  { flags: "--ask", description: "ask before anything is changed (CHRONICLE_ASK=1: always)" },
  { flags: "-y, --yes", description: "never ask" },
];

export const CHANGES: CommandSpec = {
  name: "changes",
  group: "Look",
  summary: "what somebody did; by default: the agent's last turn",
  details:
    "Shows each path before the first and after the last of their changes. A path that others changed in between " +
    "is shown in several pieces: no change of others is shown.",
  args: [],
  options: [...SELECTION_OPTIONS, { flags: "-p, --patch", description: "unified text" }],
  examples: [
    { line: "chronicle changes", why: "what did the last turn change?" },
    { line: "chronicle changes --actor claude -p", why: "all work of one agent, as text" },
  ],
};

export const CONFLICTS: CommandSpec = {
  name: "conflicts",
  group: "Go back",
  summary: "what an undo could not merge with later work",
  details: "The file was left as it is; both contents are kept until the conflict is settled with resolve.",
  args: [],
  options: [
    { flags: "--all", description: "settled ones, too" },
    { flags: "-p, --patch", description: "unified text: what taking the undo would change" },
  ],
  examples: [
    { line: "chronicle conflicts", why: "what waits for a decision" },
    { line: "chronicle conflicts -p", why: "both contents, as the difference between them" },
  ],
};

export const VERSIONS: CommandSpec = {
  name: "versions",
  group: "Go back",
  summary: "changes of replicas that lost against others' work",
  details:
    "At an origin: a replica's change of a file that somebody else has changed meanwhile is not applied, but kept " +
    "as a version. The replica merges it, or has a conflict; here the version can be printed and restored. The " +
    "list says which versions were merged, and which one the file equals now. A restore records the present state " +
    "first.",
  args: [{ name: "[file]", description: "only versions of this file", completes: "path" }],
  options: [
    { flags: "--show <id>", description: "print the content of a version" },
    { flags: "--restore <id>", description: "make the file equal to one" },
  ],
  examples: [
    { line: "chronicle versions notes.txt", why: "the versions of this file" },
    { line: "chronicle versions --show 0fd1a2b3:17", why: "its content, byte for byte" },
    { line: "chronicle versions --restore 0fd1a2b3:17", why: "that was the right one" },
  ],
};

export const RESOLVE: CommandSpec = {
  name: "resolve",
  group: "Go back",
  summary: "settle a conflict of an undo with later work, or of a folder with what it follows",
  details:
    "For a conflict of a sync, --take-undo takes the origin's side; `chronicle sync resolve` can also merge. The " +
    "present state is recorded first; if the file changes, undo reverts that.",
  args: [{ name: "<conflict>", description: "an id, its beginning, or the path" }],
  options: [
    { flags: "--keep-current", description: "the file stays as it is now" },
    { flags: "--take-undo", description: "the file becomes what the undo or redo wanted, or what the origin has" },
    { flags: "--merged <file>", description: "the file gets the content of this one", completes: "path" },
  ],
  examples: [
    { line: "chronicle resolve src/main.ts --take-undo", why: "the undo was right" },
    { line: "chronicle resolve 3f2a --keep-current", why: "I edited it as it should be" },
  ],
};
