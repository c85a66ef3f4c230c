import type { RunShape, UndoShape } from "../../api/shapes.ts";
import type { CommandEnd } from "../../api/workspace-api.ts";
import type { OmittedChange } from "../../core/records/omitted-change.ts";
import type { Change } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { argumentOfShown } from "../../core/shell/quote-command.ts";
import type { Session } from "../facts/actions.ts";
import type { Context } from "../log/context.ts";
import { shownPath } from "../log/shape.ts";
import { endBefore } from "./before-change.ts";
import { commitRun, endedBefore, rollbackTransaction } from "./transaction.ts";

/** The facts of an ended run that are needed to end its transaction. */
interface DoneRun {
  readonly session: Session;
  readonly changes: readonly Change[];
  readonly ambiguous: readonly WorkspacePath[];
  readonly notRecorded: RunShape["not_recorded"];
}

const BESIDE = "another run was active at the same time, and either run may have changed them";

/** Returns the paths that a rollback did not take back, with the reason and the next step; `null` if there are none. */
function leftOf(
  given: { readonly done: DoneRun } & Pick<UndoShape, "skipped" | "unmerged">,
): RunShape["not_rolled_back"] {
  const { done, skipped, unmerged } = given;
  const rivals = done.ambiguous.map(shownPath);
  const pathsOf = (isMeant: (one: OmittedChange) => boolean): string[] =>
    done.session.omittedChanges.filter(isMeant).map((one) => shownPath(one.path));
  const lost = pathsOf((one) => one.lost);
  const erased = pathsOf(({ reason, lost: isLost }) => reason === "erased" && !isLost);
  const named = [...rivals, ...skipped.map((one) => one.path), ...unmerged.map((one) => one.path), ...lost, ...erased];
  const paths = [...new Set(named)];
  const [first] = paths;
  if (first === undefined) return null;
  const before = `chronicle restore seq:${done.session.fromSeq}`;
  if (rivals.length > 0) {
    return { reason: BESIDE, paths, hint: `${before} ${rivals.length === 1 ? argumentOfShown(first) : "PATH..."}` };
  }
  if (skipped.length > 0 && skipped.every((one) => one.reason === "ambiguous"))
    return { reason: BESIDE, paths, hint: `chronicle undo --since seq:${done.session.fromSeq}` };
  const unrecorded = new Set(pathsOf((one) => one.recorded === true));
  if (skipped.length > 0 && skipped.every(({ path }) => unrecorded.has(path))) {
    const [reason, them] =
      paths.length === 1
        ? ["its present state could not be recorded, so it stays", `it away, then ${before} ${argumentOfShown(first)}`]
        : ["their present states could not be recorded, so they stay", `them away, then ${before} PATH...`];
    return { reason, paths, hint: `move ${them}` };
  }
  const shown = `chronicle show ${done.session.id.slice(0, 8)}`;
  // A restore does not help a lost path, because the path's state right before the run is not known.
  const others = skipped.filter(({ path }) => !lost.includes(path));
  if (others.length > 0 && others.every(({ reason }) => reason === "unseen"))
    return { reason: "their state before the run is not known", paths, hint: shown };
  if (others.length > 0) return { reason: whySkipped(skipped), paths, hint: `${before} PATH...` };
  if (unmerged.length > 0)
    return { reason: "they were edited since, in the same or adjacent lines", paths, hint: "chronicle conflicts" };
  if (lost.length === 0)
    return {
      reason: "their present content was erased from the history, so it is not overwritten",
      paths,
      hint: `remove them, then ${before} PATH...`,
    };
  return { reason: "they are not recorded, so their earlier content is gone", paths, hint: shown };
}

/**
 * Returns the copies that a rollback kept of contents that others wrote during the rollback; `null` if there are none.
 */
function besideOf(conflicts: UndoShape["conflicts"]): RunShape["not_rolled_back"] {
  if (conflicts.length === 0) return null;
  const reason = "the files were written to during the rollback, and copies of what was written are kept beside them";
  const hint = "compare each copy with its file, and remove the copies that you do not need";
  return { reason, paths: conflicts.map(({ kept_at: at }) => at), hint };
}

function whySkipped(skipped: UndoShape["skipped"]): string {
  const isMeanwhile = skipped.some(({ reason }) => reason === "changed-meanwhile");
  return isMeanwhile ? "they were changed while the rest was taken back" : "they could not be changed";
}

/** The result of ending the transaction of a run. */
export interface TransactionEnd {
  readonly isRolledBack: boolean;
  readonly left: RunShape["not_rolled_back"];
  readonly uncommitted?: RunShape["not_committed"];
  readonly skipped: RunShape["skipped"];
  readonly conflicts: RunShape["conflicts"];
}

const NOTHING_ROLLED_BACK: TransactionEnd = { isRolledBack: false, left: null, skipped: [], conflicts: [] };

interface EndedRun {
  readonly end: CommandEnd;
  readonly done: DoneRun;
}

/**
 * Commits the transaction of a run, or rolls it back if the command failed. Does nothing if the run had no transaction.
 */
export async function endTransaction(
  context: Context,
  transaction: string | undefined,
  { end, done }: EndedRun,
): Promise<TransactionEnd> {
  if (transaction === undefined) return NOTHING_ROLLED_BACK;
  if (end.code === 0) return commitOrTell(context, transaction);
  try {
    // `endBefore` finishes the interrupted operations of processes that were killed since the run began.
    const before = await endBefore(context);
    const { undo } = await rollbackTransaction(context, transaction, { force: true }, before);
    const { skipped, unmerged, conflicts } = undo;
    const left = leftOf({ done, skipped, unmerged }) ?? besideOf(conflicts);
    return { isRolledBack: undo.undo_id !== null, left, skipped, conflicts };
  } catch (error) {
    // Once this process is gone, the next change of the workspace rolls this transaction back.
    const paths = [...done.changes.map((one) => shownPath(one.path)), ...done.ambiguous.map(shownPath)];
    const next =
      endedBefore(error) === undefined
        ? `chronicle transaction rollback ${transaction.slice(0, 8)}`
        : `chronicle restore seq:${done.session.fromSeq}`;
    const hint = done.notRecorded?.hint ?? next;
    return { ...NOTHING_ROLLED_BACK, left: { reason: reasonOf(error), paths, hint } };
  }
}

/**
 * Commits the transaction of a run. If this fails, returns the reason instead of an error, because the command has
 * already run.
 */
async function commitOrTell(context: Context, transaction: string): Promise<TransactionEnd> {
  try {
    await commitRun(context, transaction);
    return NOTHING_ROLLED_BACK;
  } catch (error) {
    const ended = endedBefore(error);
    // The commit of an outer transaction also commits this transaction.
    if (ended === "committed") return NOTHING_ROLLED_BACK;
    if (ended === "rolled_back")
      return {
        ...NOTHING_ROLLED_BACK,
        uncommitted: { reason: "its transaction was rolled back meanwhile", hint: "chronicle redo" },
      };
    // Once this process is gone, the next change of the workspace rolls this transaction back.
    const reason = `its transaction could not be committed (${reasonOf(error)}), and the next change of the workspace rolls it back, unless it is committed first`;
    const hint = `chronicle transaction commit ${transaction.slice(0, 8)}`;
    return { ...NOTHING_ROLLED_BACK, uncommitted: { reason, hint } };
  }
}

/** Returns the message of an error, in well-formed Unicode so that it can be recorded. */
export function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).toWellFormed();
}
