import type { CommandSpec, OptionSpec } from "./spec.ts";
import { ASKING, SELECTION_OPTIONS } from "./work.ts";

const GROUP = "Go back";

const DRY_RUN: OptionSpec = {
  flags: "--dry-run",
  description:
    "show what would be done or refused, and change nothing (the exit code is the same as without --dry-run)",
};

const UNDO_OPTIONS: readonly OptionSpec[] = [
  DRY_RUN,
  {
    flags: "--force",
    description: "overwrite edits that were made after the work; the present state is recorded first",
  },
  { flags: "--exact", description: "merge nothing: if a path was edited since, change nothing (exit code 6)" },
  ...ASKING,
];

export const RESTORE: CommandSpec = {
  name: "restore",
  group: GROUP,
  summary: "make files equal to an earlier moment",
  details:
    "The present state is recorded first, so every restore can be undone. Therefore restore asks for confirmation " +
    "only on a terminal, and only in these cases: more than 1,000 paths would change; more than half of the files " +
    "would be removed; files that the rules leave out would change; the moment is before the history begins or in " +
    "the future; or --ask is given. A file that was excluded or could not be recorded at that moment is left as it " +
    "is. If such a file was recorded earlier, name the file and use --force: the file then gets its last recorded " +
    "state up to that moment. With --to, files that are secrets by their names are written only for people. For an " +
    "agent, these files are left out, and their names are listed.",
  args: [
    {
      name: "<moment>",
      description: "a snapshot's number, id or name, seq:N, latest, baseline, a time (10m), or X~2",
      completes: "moment",
    },
    { name: "[path...]", description: "restore only these paths and everything beneath them", completes: "path" },
  ],
  options: [
    {
      flags: "--to <dir>",
      description: "write the files into this folder instead; it must be missing or empty",
      completes: "path",
    },
    DRY_RUN,
    {
      flags: "--force",
      description: "restore what can be restored, and leave the rest as it is (for a file that you name: see above)",
    },
    { flags: "--mtime", description: "also restore the recorded modification times, to the nanosecond" },
    ...ASKING,
  ],
  examples: [
    { line: "chronicle restore 10m", why: "as it was ten minutes ago" },
    { line: "chronicle restore 3 src/main.ts", why: "one file from snapshot 3" },
    { line: "chronicle restore baseline --to /tmp/old", why: "the first state, in another folder" },
    { line: "chronicle undo", why: "take the restore back" },
  ],
};

export const UNDO: CommandSpec = {
  name: "undo",
  group: GROUP,
  summary: "take back the last run or restore (a second undo: the one before), or only somebody's work",
  details:
    "Redo brings back exactly what an undo takes back. Therefore undo asks for confirmation only on a terminal, and " +
    "only in these cases: more than 1,000 paths would change; more than half of the files would be removed; files " +
    "that the rules leave out would change; a note says what cannot come back; or --ask is given. Only paths that " +
    "the operation changed are touched. If one of these paths was edited since, the undo keeps the edits and merges " +
    "with them. What does not merge stays as it is and becomes a conflict, which `chronicle conflicts` lists; " +
    "everything else is taken back, and the exit code is 1. With --force, the paths get their earlier states, and " +
    "the edits stay in the history. With --exact, nothing is done if a path was edited since. If a program is still " +
    "writing to a path, or the path changes during the undo, the path is left as it is and named, everything else " +
    "is taken back, and the exit code is 1. You can undo the path later by the operation's id. With --action, " +
    "--turn, --session, --actor, --file, --since or --to, exactly the selected work is taken back, in the same way. " +
    "--file can be added to each of the other options. (--session also takes the id of a run.) --turn last is the " +
    "last turn of which something is left to take back, so each such undo goes one turn further back. With " +
    "--session or --actor, the turn is one of that session or actor. --to takes back the named run, action, turn or " +
    "restore, and all recorded work after it. If --to names a moment, all recorded work after the moment is taken " +
    "back. --to keeps people's own edits; restore and --since take these edits back, too. --until ends the range " +
    "that --since or --to begins: work after it stays, and is merged with. FILE:10-20 takes back " +
    "only the hunks that the work has made at these lines of the present file. The work is that of the last " +
    "operation, or the work that these options select. A hunk is taken back whole if one of its lines is named. A " +
    "deletion is taken back if a line right before or after it is named. The rest of the work can be taken back " +
    "later. (If a file's name itself ends like that, the file is meant: use --file, or FILE:10:1-9.) Several files, " +
    "each with or without lines, are taken back in one operation. With -i, you choose files and hunks in a " +
    "terminal: first the files, then for each file the hunks, as in `git add -p`. Nothing is changed until " +
    "everything is chosen. If a file or the work has changed in the meantime, nothing is changed at all. If a path " +
    "needs a content that was pruned, the path is listed and nothing is done; with --force, the path is left and " +
    "the rest is done.",
  args: [
    {
      name: "[what...]",
      description:
        "an operation's id (default: the last operation that is not undone), lines of a file (FILE:10-20), or several files",
      completes: "operation",
    },
  ],
  options: [
    ...SELECTION_OPTIONS,
    { flags: "-i, --interactive", description: "choose files and hunks in a terminal" },
    ...UNDO_OPTIONS,
  ],
  examples: [
    { line: "chronicle undo", why: "the last thing done" },
    { line: "chronicle undo --turn last", why: "the agent's last turn, and nobody else's work; again: the one before" },
    { line: "chronicle undo 4b62", why: "one run (list shows them); what was edited since stays" },
    { line: "chronicle undo --to 4b62", why: "this run and all work after it; your own edits stay" },
    {
      line: "chronicle undo --since 9:00 --until 9:30",
      why: "half an hour of everybody's work; what came later stays",
    },
    { line: "chronicle undo --actor codex --file src/parser.ts", why: "only what Codex did to one file" },
    { line: "chronicle undo src/parser.ts:10-20", why: "only what the last work changed at these lines" },
    {
      line: "chronicle undo --turn last src/parser.ts:12",
      why: "the same, for the agent's last turn that changed line 12",
    },
    { line: "chronicle undo a.ts:10-20 b.ts:3 c.ts", why: "the same for several files at once" },
    { line: "chronicle undo -i --turn last", why: "choose files and hunks of the agent's last turn" },
    { line: "chronicle undo --dry-run", why: "see it first" },
    { line: "chronicle redo", why: "and forward again" },
  ],
};

export const REDO: CommandSpec = {
  name: "redo",
  group: GROUP,
  summary: "do again what the last undo took back",
  details:
    "The redo brings back exactly what the undo took back. If the undo has merged with edits, these edits and later " +
    "edits stay, and what does not merge becomes a conflict. If the undo has merged nothing, and a path was edited " +
    "since the undo, the path is listed and nothing is done. With --force, this path is changed, too.",
  args: [
    {
      name: "[operation]",
      description: "an operation's id (default: the last operation that was undone)",
      completes: "operation",
    },
  ],
  options: UNDO_OPTIONS,
  examples: [{ line: "chronicle redo", why: "forward again" }],
};

/** The options that select turns of agents. */
export const TURN_OPTIONS: readonly OptionSpec[] = [
  { flags: "--session <id>", description: "only the turns of this session", completes: "session" },
  { flags: "--actor <name>", description: "only the turns of this agent" },
];

export const REWIND: CommandSpec = {
  name: "rewind",
  group: GROUP,
  summary: "go to before something that you asked an agent",
  details:
    "Takes back that turn and all later work of that agent's session. Later work of others stays, and is merged " +
    "with the result. A path that does not merge stays as it is and becomes a conflict. With --everything, all " +
    "files are made equal to the state right before the prompt. In both cases, the rewind is one operation, and one " +
    "redo (after --everything: one undo) brings everything back. The agent's conversation stays as it is; rewind " +
    "says how to take the conversation back as well. With --conversation, Codex and opencode also copy the " +
    "conversation up to the prompt, and rewind prints the command that opens the copy. Without a turn, you choose a " +
    "turn at the terminal. Numbers and last count only turns that changed something and are not undone, as " +
    "`chronicle turns` numbers them.",
  args: [
    {
      name: "[turn]",
      description: "a turn: last, a number counted back (1 is the last), an id or its beginning",
    },
  ],
  options: [
    { flags: "--everything", description: "also take back everybody else's work since" },
    { flags: "--conversation", description: "also copy the conversation, up to the prompt (Codex, opencode)" },
    ...TURN_OPTIONS,
    ...UNDO_OPTIONS,
  ],
  examples: [
    { line: "chronicle rewind", why: "choose a prompt, and go to before it" },
    { line: "chronicle rewind last", why: "before the last thing that you asked" },
    { line: "chronicle rewind 2 --actor claude", why: "two prompts back, of one agent" },
    { line: "chronicle rewind last --dry-run", why: "see it first" },
    { line: "chronicle rewind last --conversation", why: "and a copy of the conversation that ends there" },
    { line: "chronicle redo", why: "and forward again" },
  ],
};

export const TRANSACTION: CommandSpec = {
  name: "transaction",
  group: "Record",
  summary: "group changes that are committed or rolled back as a whole: begin, commit, rollback, list",
  details:
    "begin prints the id of a new transaction. Later changes belong to this transaction until it is committed or " +
    "rolled back. A transaction that is begun within another one is a savepoint. rollback takes back exactly the " +
    "transaction's changes, and merges the result with later work of others. A path that does not merge stays as " +
    "it is and becomes a conflict. Without an id, commit and rollback are about the innermost active transaction.",
  args: [
    { name: "<what>", description: "what to do", completes: ["begin", "commit", "rollback", "list"] },
    { name: "[id]", description: "the transaction, or the beginning of its id", completes: "operation" },
  ],
  options: [
    { flags: "--name <name>", description: "with begin: a name for the transaction" },
    {
      flags: "--session <id>",
      description: "with begin: only the actions of this agent's session belong to the transaction",
    },
    { flags: "--pid <pid>", description: "with begin: roll back when this process has ended", value: "count" },
    {
      flags: "--keep",
      description: "with begin and --pid: commit when the process has ended, instead of rolling back",
    },
    { flags: "--force", description: "with rollback: leave what cannot be changed, and roll back the rest" },
  ],
  examples: [
    { line: "chronicle transaction begin --name refactoring", why: "changes from here on belong to it" },
    { line: "chronicle transaction rollback", why: "take them all back" },
    { line: "chronicle run --rollback-on-failure -- make", why: "a transaction around one command" },
  ],
};
