import type { CommandSpec, OptionSpec } from "./spec.ts";
import { ASKING, SELECTION_OPTIONS } from "./work.ts";

const GROUP = "Go back";

const DRY_RUN: OptionSpec = {
  flags: "--dry-run",
  description: "say what would be done or refused, change nothing (exit code as without it)",
};

const UNDO_OPTIONS: readonly OptionSpec[] = [
  DRY_RUN,
  { flags: "--force", description: "include paths that were edited since (they are recorded first)" },
  ...ASKING,
];

export const RESTORE: CommandSpec = {
  name: "restore",
  group: GROUP,
  summary: "make files equal to an earlier moment",
  details:
    "The present state is recorded first, so every restore can be undone. Therefore it does not ask, except on a " +
    "terminal for more than 1,000 paths, for the removal of more than half of the files, for files that the rules leave " +
    "out, and with --ask. Files that were excluded, or could not be recorded at " +
    "that moment, are left as they are. One that was recorded before that gets its last recorded state if you name it " +
    "and use --force. With --to, files that are secrets by their names are written for people only: for an agent they are left out and named.",
  args: [
    {
      name: "<moment>",
      description: "a number, seq:N, an id, a name, latest, baseline, a time (10m), X~2",
      completes: "moment",
    },
    { name: "[path...]", description: "only these and what is beneath them", completes: "path" },
  ],
  options: [
    { flags: "--to <dir>", description: "fill this folder instead (missing or empty)", completes: "path" },
    DRY_RUN,
    { flags: "--force", description: "leave what cannot be restored and do the rest; see above for a named file" },
    { flags: "--mtime", description: "also the recorded modification times, to the nanosecond" },
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
  summary: "take back the last run or restore, or somebody's work only; again: the one before",
  details:
    "Redo brings back exactly what an undo takes, so it is done without a question. On a terminal it asks only for " +
    "more than 1,000 paths, for the removal of more than half of the files, for files that the rules leave out, where " +
    "a note says what cannot come back, and with --ask. " +
    "Only paths that the operation changed are touched. If one was edited since, it is listed and nothing is " +
    "done, unless --force includes it. A path that a program is still writing, or that changes meanwhile, is left " +
    "and named, and everything else is taken back (exit code 1); the rest can be undone later by the operation's " +
    "id. With --action, --turn, --session, --actor, --file or --since exactly that work is taken back, and merged " +
    "with later work (a run is a session under its own id); what does not merge stays as it is, and its path is a " +
    "conflict: see conflicts. If a path " +
    "needs a content that was pruned, it is listed and nothing is done, unless --force leaves it.",
  args: [{ name: "[operation]", description: "an id (default: the last that is not undone)", completes: "operation" }],
  options: [...SELECTION_OPTIONS, ...UNDO_OPTIONS],
  examples: [
    { line: "chronicle undo", why: "the last thing done" },
    { line: "chronicle undo --turn last", why: "what the agent did last, and nobody else's work" },
    { line: "chronicle undo --session 4b62", why: "one run (sessions lists them); what was edited since stays" },
    { line: "chronicle undo --dry-run", why: "see it first" },
    { line: "chronicle redo", why: "and forward again" },
  ],
};

export const REDO: CommandSpec = {
  name: "redo",
  group: GROUP,
  summary: "do again what the last undo took back",
  args: [{ name: "[operation]", description: "an id (default: the last that was undone)", completes: "operation" }],
  options: UNDO_OPTIONS,
  examples: [{ line: "chronicle redo", why: "forward again" }],
};

export const TRANSACTION: CommandSpec = {
  name: "transaction",
  group: "Record",
  summary: "changes that land whole or are taken back whole: begin, commit, rollback, list",
  details:
    "begin prints the id of a new transaction. Later changes belong to it, until it is committed or rolled back. " +
    "One that is begun within another is a savepoint. rollback takes back exactly its changes, and merges with " +
    "later work of others; what does not merge stays as it is, and its path is a conflict. Without an id, the " +
    "innermost active transaction is meant.",
  args: [
    { name: "<what>", description: "what to do", completes: ["begin", "commit", "rollback", "list"] },
    { name: "[id]", description: "the transaction, or the beginning of its id", completes: "operation" },
  ],
  options: [
    { flags: "--name <name>", description: "begin: a name to show" },
    { flags: "--session <id>", description: "begin: only the actions of this agent's session belong to it" },
    { flags: "--pid <pid>", description: "begin: roll back when this process has ended", value: "count" },
    { flags: "--keep", description: "begin, with --pid: commit instead" },
    { flags: "--force", description: "rollback: leave what cannot be changed and do the rest" },
  ],
  examples: [
    { line: "chronicle transaction begin --name refactoring", why: "from here on …" },
    { line: "chronicle transaction rollback", why: "… and back to here" },
    { line: "chronicle run --rollback-on-failure -- make", why: "a transaction around one command" },
  ],
};
