import type { CommandSpec, OptionSpec } from "./spec.ts";

/** Options that select whose work is meant, for `undo` and `changes`. */
export const SELECTION_OPTIONS: readonly OptionSpec[] = [
  { flags: "--action <id>", description: "of one action: its id, or the agent's own id of the call" },
  { flags: "--turn <id>", description: "of a turn of an agent (last: the one that changed something last)" },
  { flags: "--session <id>", description: "of a run, a watch or an agent's session", completes: "session" },
  { flags: "--actor <name>", description: "of an actor" },
  { flags: "--file <path>", description: "of everybody, to this path and beneath it", completes: "path" },
  { flags: "--since <moment>", description: "of everybody, since a moment (10m, 3, seq:40)", completes: "moment" },
];

export const CHANGES: CommandSpec = {
  name: "changes",
  group: "Look",
  summary: "what somebody did; by default: the agent's last turn",
  details:
    "Each path before the first of their changes and after the last. Where others changed it in between, it is there once " +
    "for each piece: nothing that others did is shown.",
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
    { flags: "--all", description: "those that are settled too" },
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
  summary: "what replicas wrote and lost against others' work",
  details:
    "At an origin: a change of a replica that came when somebody else had changed the file since is not taken, but kept. The " +
    "replica merges it, or has a conflict; here its content can be looked at, and brought back. Of what was merged, and of what " +
    "the file is by now, the list says so. What is there now is recorded first.",
  args: [{ name: "[file]", description: "of this one alone", completes: "path" }],
  options: [
    { flags: "--show <id>", description: "print the content of one" },
    { flags: "--restore <id>", description: "make one what the file is" },
  ],
  examples: [
    { line: "chronicle versions notes.txt", why: "what was left out of it" },
    { line: "chronicle versions --show 0fd1a2b3:17", why: "its content, byte for byte" },
    { line: "chronicle versions --restore 0fd1a2b3:17", why: "that was the right one" },
  ],
};

export const RESOLVE: CommandSpec = {
  name: "resolve",
  group: "Go back",
  summary: "settle a conflict of an undo with later work, or of a folder with what it follows",
  details:
    "Of a sync, --take-undo takes the origin's side; `chronicle sync resolve` merges, too. " +
    "What is there now is recorded first; where a file is changed, undo takes that back.",
  args: [{ name: "<conflict>", description: "an id, its beginning, or the path" }],
  options: [
    { flags: "--keep-current", description: "the file stays as it is now" },
    { flags: "--take-undo", description: "the file becomes what the undo wanted, or what the origin has" },
    { flags: "--merged <file>", description: "the file gets the content of this one", completes: "path" },
  ],
  examples: [
    { line: "chronicle resolve src/main.ts --take-undo", why: "the undo was right" },
    { line: "chronicle resolve 3f2a --keep-current", why: "I edited it as it should be" },
  ],
};
