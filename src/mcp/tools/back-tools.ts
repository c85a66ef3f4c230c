import * as z from "zod";
import type { RestoreShape, UndoShape } from "../../api/shapes.ts";
import type { Answer } from "../tool-answer.ts";
import {
  actionId,
  dryRun,
  inWorkspace,
  moment,
  named,
  path,
  paths,
  pathsIn,
  selectionOf,
  selectionShape,
  redoOf,
} from "../arguments.ts";
import { counted } from "../one-line.ts";
import { listed } from "../fit.ts";
import { cappedRestore, changeLines, copyLine, countsOf, gitLines, leftLines, noteLines, said } from "../show.ts";
import { shortId } from "../short-ids.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import * as output from "../outputs.ts";
import { defineTool, type Tool } from "../tool.ts";
import { inCalls } from "../tool-words.ts";
import { optional } from "../../util/optional.ts";

const force = z
  .boolean()
  .default(false)
  .describe("overwrite edits that were made after the work; the present state is recorded first");

const line = z.int().min(1);

const exact = z.boolean().default(false).describe("merge nothing: if a path was edited after the work, change nothing");

function wentBack(result: RestoreShape & Partial<UndoShape>, verb: string, next: readonly string[]): Answer {
  const { changes, skipped, unmerged = [], finished, conflicts, kept_aside: aside = [], git = [] } = result;
  const notes = result.notes?.map(inCalls);
  const nothing = changes.length + aside.length + git.length === 0;
  const failed = nothing && (skipped.length > 0 || unmerged.length > 0);
  const did = result.dry_run ? `Would be ${verb}` : verb[0]?.toUpperCase() + verb.slice(1);
  const remains = result.dry_run || nothing ? [] : next;
  return {
    summary: nothing ? nothingSentence(result, failed) : `${did}: ${whatOf(result)}${aboutOf(result)}.`,
    lines: [
      ...finished.map((one) => `An interrupted operation was finished first: ${said(one)}`),
      changeLines(changes),
      listed(gitLines(git)),
      ...leftLines(result),
      listed(conflicts.map(copyLine)),
      listed(noteLines(notes ?? [])),
    ],
    next: [...remains, ...(unmerged.length > 0 && !result.dry_run ? [RESOLVE] : [])],
    data: cappedRestore({ ...result, unmerged: unmerged.slice(0, 50), ...optional({ notes }) }),
    failed,
  };
}

/**
 * Returns the counts of changed recorded paths. If there are none, returns the count of changed paths that the rules
 * leave out.
 */
function whatOf({ changes, kept_aside: aside = [], git = [] }: RestoreShape): string {
  if (changes.length + aside.length === 0 && git.length > 0) return "the state of git";
  return changes.length > 0 ? countsOf(changes) : `${counted(aside.length, "path")} that the rules leave out`;
}

function aboutOf({ operation, selection }: Partial<UndoShape>): string {
  if (operation !== null && operation !== undefined) return ` (${operation.kind}: ${said(operation.summary)})`;
  return selection === undefined ? "" : ` (${said(selection)})`;
}

/**
 * Returns the step that undoes the restore; none if the restore changed nothing. The step names the restore's id, so
 * the step still works after other operations.
 */
function undoOf({ undo_id: id }: RestoreShape): string[] {
  return id === null ? [] : [`undo {"operation":"${shortId(id)}"} takes it back.`];
}

const RESOLVE =
  "list_conflicts shows the changes that did not merge; resolve_conflict settles a conflict. Both contents are kept.";

function nothingSentence(result: RestoreShape & Partial<UndoShape>, failed: boolean): string {
  if (failed) {
    const left = counted(result.skipped.length + (result.unmerged?.length ?? 0), "path");
    return `Nothing ${result.dry_run ? "would be" : "was"} changed: ${left} cannot be changed.`;
  }
  if (result.operation === null && result.finished.length === 0) return "There is nothing to take back.";
  return "Nothing to change: the files already have that state.";
}

const MOST_PARTS = 1_000;

const part = z.strictObject({
  file: path.describe("the file; if no lines are given, it may also be a folder"),
  from_line: line.describe("the first line (default: all of the work in the file)").optional(),
  to_line: line.describe("the last line (default: `from_line`)").optional(),
});

const undo = defineTool({
  name: "undo",
  title: "Take work back",
  description:
    "Takes back exactly the selected work, and nobody else's: one action (a single edit or command, by its id " +
    "from list_actions), a turn, a turn with all later work of its session (`rewind`), a session, all work of one actor, the changes of one " +
    "file, or everything since a time. Later " +
    "edits by others stay: they are merged. A path whose changes do not merge is left as it is, and becomes a conflict. Without " +
    "arguments, undo takes back the last operation that is not undone (see list_history). With `file` and `from_line`, it takes " +
    "back only the hunks of that work at these lines. With `dry_run`, it only shows what it " +
    "would do. Nothing is lost: the present state is recorded first, and redo does the undone work again. Use this for " +
    "`that last edit broke the tests, roll it back`: call list_actions, then undo with the first id that it lists.",
  input: z.strictObject({
    ...selectionShape,
    operation: named("an operation's id, as list_history shows it: a run, a restore …").optional(),
    from_line: line
      .describe("take back only hunks that touch the lines from this one to `to_line` of the present `file`")
      .optional(),
    to_line: line.describe("the last line (default: `from_line`)").optional(),
    parts: z
      .array(part)
      .min(1)
      .max(MOST_PARTS)
      .describe("take back only these files, or hunks at these lines, in one operation")
      .optional(),
    dry_run: dryRun,
    force,
    exact,
  }),
  output: output.wentBack,
  effect: "changes",
  hints: {
    NOT_FOUND: "list_actions and list_history show the ids",
    AMBIGUOUS: "give more of the id, as list_actions shows it",
  },
  run: async (workspace, given): Promise<Answer> => {
    const { operation, from_line: fromLine, to_line: toLine, dry_run: dry, force: forced, exact: isExact } = given;
    const selection = selectionOf(workspace, given);
    if (selection !== undefined && operation !== undefined && fromLine === undefined) {
      throw new ChronicleError("USAGE", "give an operation or a selection of work, not both");
    }
    const parts = given.parts?.map(({ file, from_line, to_line }) => ({
      file: inWorkspace(workspace, file),
      ...{ fromLine: from_line, toLine: to_line },
    }));
    const result = await workspace.undo({
      ...selection,
      ...optional({ operation, fromLine, toLine, parts }),
      dryRun: dry,
      force: forced,
      exact: isExact,
    });
    // An undo of an undo does the work again.
    if (result.direction === "redo") return wentBack(result, "done again", ["undo takes it back."]);
    return wentBack(result, "taken back", [redoOf(selection === undefined ? null : result.undo_id)]);
  },
});

const redo = defineTool({
  name: "redo",
  title: "Do undone work again",
  description:
    "Does again the work that the last undo took back, or the undo with this id. Another undo takes the work back once more.",
  input: z.strictObject({
    operation: named("an operation's id, as list_history shows it").optional(),
    dry_run: dryRun,
    force,
    exact,
  }),
  output: output.wentBack,
  effect: "changes",
  hints: { NOT_FOUND: "list_history shows the ids" },
  run: async (workspace, { operation, dry_run: dry, force: forced, exact: isExact }): Promise<Answer> => {
    const which = operation === undefined ? {} : { operation };
    const result = await workspace.redo({ ...which, dryRun: dry, force: forced, exact: isExact });
    return wentBack(result, "done again", ["undo takes it back."]);
  },
});

const rollback = defineTool({
  name: "rollback",
  title: "Roll an action's files back",
  description:
    "Sets the files of one action's snapshot back to what they were before the action ran. This removes later edits " +
    "of these files, too. To keep later edits, use undo with the action's id. Nothing is lost: " +
    "the present state is recorded first, and undo takes the rollback back. Files outside of the " +
    "workspace are restored only if they are named in `outside`.",
  input: z.strictObject({
    id: actionId,
    dry_run: dryRun,
    force: z.boolean().default(false).describe("restore what can be restored, and leave the rest as it is"),
    outside: z
      .array(z.string().min(1).max(4096))
      .max(20)
      .describe("restore these absolute paths outside of the workspace, and nothing else")
      .optional(),
  }),
  output: output.wentBack,
  effect: "changes",
  idempotent: true,
  hints: { NOT_FOUND: "list_actions lists the ids", AMBIGUOUS: "give more of the id, as list_actions shows it" },
  run: async (workspace, { id, dry_run: dry, force: forced, outside }): Promise<Answer> => {
    const extra = outside === undefined ? {} : { outside };
    const result = await workspace.rollback(id, { dryRun: dry, force: forced, ...extra });
    return wentBack(result, "rolled back", undoOf(result));
  },
});

const restore = defineTool({
  name: "restore",
  title: "Restore files from a moment",
  description:
    "Makes files equal to an earlier moment: one file or some (`paths`), or the whole workspace if no path is given. " +
    "The present state is recorded first, so nothing is lost: undo takes the restore back. Only " +
    "recorded paths are touched. If you give no path, first call it with `dry_run`.",
  input: z.strictObject({
    moment,
    paths: paths.optional(),
    dry_run: dryRun,
    force: z.boolean().default(false).describe("restore what can be restored, and leave the rest as it is"),
  }),
  output: output.wentBack,
  effect: "changes",
  idempotent: true,
  hints: { NOT_FOUND: "list_history and file_history show the moments; find_file finds recorded paths" },
  run: async (workspace, { moment: when, paths: given, dry_run: dry, force: forced }): Promise<Answer> => {
    const result = await workspace.restore(when, { dryRun: dry, force: forced, ...pathsIn(workspace, given) });
    return wentBack(result, "restored", undoOf(result));
  },
});

export const BACK_TOOLS: readonly Tool[] = [undo, redo, rollback, restore];
