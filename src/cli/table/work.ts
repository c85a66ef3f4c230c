import type { CommandSpec, OptionSpec } from "./spec.ts";

/** Options of `undo` and `changes` that select somebody's work. */
export const SELECTION_OPTIONS: readonly OptionSpec[] = [
  { flags: "--action <id>", description: "the work of one action: its id, or the agent's own id of the call" },
  {
    flags: "--turn <id>",
    description: "the work of one turn of an agent (last: the last one); --session or --actor can be added",
  },
  { flags: "--session <id>", description: "the work of a run, a watch or an agent's session", completes: "session" },
  { flags: "--actor <name>", description: "the work of one actor" },
  {
    flags: "--file <path>",
    description:
      "everybody's work on this path and beneath it; with another option: only the work that it selects, on this " +
      "path",
    completes: "path",
  },
  { flags: "--since <moment>", description: "everybody's work since a moment (10m, 3, seq:40)", completes: "moment" },
  {
    flags: "--to <moment>",
    description: "this work (an id, a turn, 10m, 3) and all recorded work after it, without people's own edits",
    completes: "moment",
  },
  {
    flags: "--until <moment>",
    description: "with --since or --to: only up to this moment; what came later stays",
    completes: "moment",
  },
];

export const NO_RENAMES: OptionSpec = {
  flags: "--no-renames",
  description: "show a renamed file as a deleted and a created one",
};

/** Options that decide whether a person at a terminal is asked before files are changed. */
export const ASKING: readonly OptionSpec[] = [
  { flags: "--ask", description: "ask before anything is changed (CHRONICLE_ASK=1: always)" },
  { flags: "-y, --yes", description: "never ask" },
];

export const CHANGES: CommandSpec = {
  name: "changes",
  paged: true,
  group: "Look",
  summary: "show what somebody did (default: the agent's last turn)",
  details:
    "Shows each path as it was before the first and after the last change of the selected work. A path that others " +
    "changed in between is shown in several pieces, so that no change of others is shown. With --format markdown, " +
    "the text is made for a pull request: who did the work, the paths with their added and removed lines, and each " +
    "patch in a block that opens on a click. Names and patches stand in code, so that GitHub formats nothing in " +
    "them, and nobody is mentioned. The contents of secrets are in no patch.",
  args: [],
  options: [
    ...SELECTION_OPTIONS,
    { flags: "-p, --patch", description: "unified text" },
    NO_RENAMES,
    { flags: "--format <form>", description: "markdown: a text for a pull request", completes: ["markdown"] },
  ],
  examples: [
    { line: "chronicle changes", why: "what did the last turn change?" },
    { line: "chronicle changes --actor claude -p", why: "all work of one agent, as text" },
    { line: "chronicle changes --session 3f2a --format markdown", why: "for the description of a pull request" },
  ],
};

export const CONFLICTS: CommandSpec = {
  name: "conflicts",
  paged: true,
  group: "Go back",
  summary: "what an undo could not merge with later work",
  details: "The file of a conflict was left as it is. Both contents are kept until resolve settles the conflict.",
  args: [],
  options: [
    { flags: "--all", description: "also show conflicts that are settled" },
    { flags: "-p, --patch", description: "show, as unified text, what --take-undo would change" },
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
    "This command is for an origin. If a replica changes a file that somebody else has changed meanwhile, the " +
    "replica's change is not applied at the origin, but kept there as a version. The replica then merges both " +
    "changes, or has a conflict. At the origin, the version can be printed and restored. The list says which " +
    "versions were merged, and which version the file equals now. --restore records the present state first.",
  args: [{ name: "[file]", description: "only versions of this file", completes: "path" }],
  options: [
    { flags: "--show <id>", description: "print the content of a version" },
    { flags: "--restore <id>", description: "make the file equal to this version" },
  ],
  examples: [
    { line: "chronicle versions notes.txt", why: "the versions of this file" },
    { line: "chronicle versions --show 0fd1a2b3:17", why: "its content, byte for byte" },
    { line: "chronicle versions --restore 0fd1a2b3:17", why: "make the file equal to it" },
  ],
};

export const RESOLVE: CommandSpec = {
  name: "resolve",
  group: "Go back",
  summary: "settle a conflict of an undo with later work, or of a folder with the workspace that it follows",
  details:
    "For a conflict of a sync, --take-undo takes the origin's side; `chronicle sync resolve` can also merge. The " +
    "present state is recorded first. If the file changes, undo takes the change back.",
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
