import type { CommandSpec, OptionSpec } from "./spec.ts";
import { SELECTION_OPTIONS } from "./work.ts";

export const TRANSACTION: CommandSpec = {
  name: "transaction",
  group: "Record",
  summary: "changes that land whole or are taken back whole: begin, commit, rollback, list",
  details:
    "begin prints an id; what is changed from then on belongs to it, until it is committed or rolled back. Begun within " +
    "another one it is a savepoint. rollback takes back exactly its changes, merged with later work of others; what " +
    "does not merge stays as it is, and is a conflict. Without an id, the innermost active one is meant.",
  args: [
    { name: "<what>", description: "what to do", completes: ["begin", "commit", "rollback", "list"] },
    { name: "[id]", description: "the transaction, or the beginning of its id", completes: "operation" },
  ],
  options: [
    { flags: "--name <name>", description: "begin: for people" },
    { flags: "--session <id>", description: "begin: only the actions of this agent's session belong to it" },
    { flags: "--pid <pid>", description: "begin: rolled back when this process is gone", value: "count" },
    { flags: "--keep", description: "begin, with --pid: committed instead" },
    { flags: "--force", description: "rollback: leave what cannot be changed and do the rest" },
  ],
  examples: [
    { line: "chronicle transaction begin --name refactoring", why: "from here on …" },
    { line: "chronicle transaction rollback", why: "… and back to here" },
    { line: "chronicle run --rollback-on-failure -- make", why: "a transaction around one command" },
  ],
};

const GROUP = "Go back";

const DRY_RUN: OptionSpec = {
  flags: "--dry-run",
  description: "say what would be done or refused, change nothing (exit code as without it)",
};
const YES: OptionSpec = { flags: "-y, --yes", description: "do not ask" };

const UNDO_OPTIONS: readonly OptionSpec[] = [
  DRY_RUN,
  { flags: "--force", description: "take along paths that were edited since (they are recorded first)" },
  YES,
];

export const RESTORE: CommandSpec = {
  name: "restore",
  group: GROUP,
  summary: "make files equal to an earlier moment",
  details:
    "The present state is recorded first, so every restore can be undone. On a terminal the changes are shown and you " +
    "are asked; without a terminal it does not ask. What was excluded or not recorded is never touched. With --to, files " +
    "that are secrets by their names are written for people only: for an agent they are left out and named.",
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
    { flags: "--force", description: "leave what cannot be restored and do the rest" },
    { flags: "--mtime", description: "also the recorded modification times, to the millisecond" },
    YES,
  ],
  examples: [
    { line: "chronicle restore 10m", why: "as it was ten minutes ago" },
    { line: "chronicle restore 3 src/main.ts", why: "one file from snapshot 3" },
    { line: "chronicle restore baseline --to /tmp/old", why: "look at the beginning elsewhere" },
    { line: "chronicle undo", why: "take the restore back" },
  ],
};

export const UNDO: CommandSpec = {
  name: "undo",
  group: GROUP,
  summary: "take back the last run or restore, or somebody's work only; again: the one before",
  details:
    "Only what that operation changed is touched. A path that was edited since is listed and nothing is done, " +
    "unless --force takes it along. One that a program goes on writing, or that is changed while this is done, is left " +
    "and named, and everything else is taken back (exit code 1); what is left stays to be undone by the operation's id. With --action, --turn, --session, --actor, --file or --since exactly that work is " +
    "taken back, merged with what came later; what does not merge stays as it is, and is a conflict: see conflicts. " +
    "What would need a content that was pruned is listed and nothing is done, unless --force leaves it.",
  args: [{ name: "[operation]", description: "an id (default: the last that is not undone)", completes: "operation" }],
  options: [...SELECTION_OPTIONS, ...UNDO_OPTIONS],
  examples: [
    { line: "chronicle undo", why: "the last thing done" },
    { line: "chronicle undo --turn last", why: "what the agent did last, and nobody else's work" },
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
