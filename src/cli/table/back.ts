import type { CommandSpec, OptionSpec } from "./spec.ts";
import { SELECTION_OPTIONS } from "./work.ts";

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
