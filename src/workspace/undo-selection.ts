import type { UndoShape } from "../api/shapes.ts";
import type { UndoOptions } from "../api/workspace-api.ts";
import type { Change } from "../core/change.ts";
import { attributor } from "./attribution.ts";
import { closedNotes, finishInterrupted, lookOrCapture, onlyFinished } from "./before-undo.ts";
import type { Context } from "./context.ts";
import { listOperations, stackOf } from "./operations.ts";
import { eventsOfWork, type OwnEvents, type Work } from "./own-work.ts";
import { ownersIn } from "./owners.ts";
import { workOf } from "./selection.ts";
import { takeBack, type TakingBack } from "./take-back.ts";
import { coveredBy, takenBy } from "./taken.ts";

/** Takes back what an action, a turn, a session, an actor did, or what was done to a file or since a moment. */
export async function undoSelection(context: Context, options: UndoOptions): Promise<UndoShape> {
  const { label } = await workOf(context, options);
  return undoWork(context, () => workOf(context, options), { label, options });
}

/** How a piece of work is undone. */
export interface UndoWork {
  /** The work's, as it is known before what is there now is captured. */
  readonly label: string;
  readonly options: Pick<UndoOptions, "dryRun" | "force" | "onProgress">;
}

/**
 * Takes a piece of work back: what was interrupted is finished, what is there now captured, then exactly that work is
 * inverted. `find` is asked after the capture. If it was an undo of the same work that was interrupted, that is finished
 * and no more is done.
 */
export async function undoWork(
  context: Context,
  find: () => Promise<Work>,
  { label, options }: UndoWork,
): Promise<UndoShape> {
  const dryRun = options.dryRun === true;
  const interrupted = await finishInterrupted(context, dryRun);
  if (interrupted.some(({ intent }) => intent.kind === "undo" && intent.selection === label))
    return { ...(await onlyFinished(context, interrupted, dryRun)), selection: label };
  const notes = await closedNotes(context, interrupted, dryRun);
  const unrecorded = await lookOrCapture(context, options);
  const work = await find();
  const undone = await undoOf(context, work);
  const pending = await pendingOf(context, work, unrecorded);
  const own = { ...undone.own, pending };
  const nothing = pending.length === 0 ? undone.nothing : `${work.label}: it is as it was before already`;
  const told = work.lost === undefined ? notes : [...notes, work.lost];
  return takeBack(context, { ...undone, own, nothing }, { options, unrecorded, notes: told });
}

/** Of what a dry run does not record: that which would be own work if it were captured now. */
async function pendingOf(context: Context, work: Work, unrecorded: readonly Change[]): Promise<Change[]> {
  if (unrecorded.length === 0) return [];
  const head = await context.index.head();
  const attribute = await attributor(context, { cause: "capture", head });
  return unrecorded.filter((change) => {
    const record = { entry: change.after, iteration: 0, ...attribute(change) };
    return work.isOwn(record, change.path, head.seq + 1);
  });
}

/** The undo of a piece of work, without what was taken back already. */
export async function undoOf(context: Context, work: Work): Promise<TakingBack> {
  const operations = await listOperations(context);
  const owners = await ownersIn(context);
  const taken = takenBy(operations, owners);
  const covering = { operations, owners, stack: stackOf(operations), taken };
  let before = 0;
  const own = await eventsOfWork(context, work, (seq, record, path) => {
    // With the events of an undo go those that it took back: together they change nothing.
    const isTaken = work.everything !== true && taken.holds(seq, record, path);
    if (isTaken) before += 1;
    return isTaken;
  });
  return {
    kind: "undo",
    summary: `undo of ${work.known ?? work.label}`,
    label: work.label,
    own,
    about: { takes: await coveredBy(context, own, covering) },
    nothing: nothingOf(work, own, before),
    always: false,
    withdraws: [],
    operation: null,
  };
}

function nothingOf({ label }: Work, own: OwnEvents, before: number): string {
  if (own.seqs.size > 0) return `${label}: it is as it was before already`;
  return before > 0 ? `${label}: it was undone already` : `${label}: nothing was changed`;
}
