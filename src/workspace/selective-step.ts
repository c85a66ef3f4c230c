import { holdsSeq } from "../core/seq-ranges.ts";
import type { UndoStack } from "../core/undo-stack.ts";
import { openConflicts } from "./conflicts.ts";
import type { Context } from "./context.ts";
import { operationShape, type LoggedOperation } from "./operations.ts";
import { eventsOfWork, fileEvents, idsOf, type Work } from "./own-work.ts";
import { actionsIn } from "./selection.ts";
import type { TakingBack } from "./take-back.ts";
import { takenBy } from "./taken.ts";
import { undoOf } from "./undo-selection.ts";

/** Where a step of `undo` or `redo` stands. */
export interface Step {
  readonly direction: "undo" | "redo";
  readonly operations: readonly LoggedOperation[];
  readonly stack: UndoStack;
}

/**
 * What a step is where undos of somebody's work play a part: the redo of one, the undo of a redone one, the undo of an
 * operation of which a part was taken back already. `undefined`: a step like any other.
 */
export async function selectiveStep(
  context: Context,
  operation: LoggedOperation,
  step: Step,
): Promise<TakingBack | undefined> {
  const { direction, operations, stack } = step;
  const { id, selective } = operation;
  const taken = takenBy(operations, await actionsIn(context));
  const shape = operationShape(operation, stack);
  if (selective !== undefined && (direction === "redo" || taken.undos.has(id)))
    return { ...(await redoOf(context, operation)), operation: shape };
  const work = selective === undefined ? await partOf(context, operation, { ...step, taken }) : again(operation);
  return work === undefined ? undefined : { ...(await undoOf(context, work)), always: true, operation: shape };
}

/** The redo of an undo of somebody's work: the inverse of what that undo wrote. */
async function redoOf(context: Context, operation: LoggedOperation): Promise<Omit<TakingBack, "operation">> {
  const { id, fromSeq, toSeq, selective } = operation;
  const label = selective?.selection ?? "";
  const own = await eventsOfWork(context, { label, fromSeq, toSeq, isOwn: (record) => record.intent === id });
  return {
    kind: "redo",
    summary: `redo of ${label}`,
    label,
    own,
    about: { target: id },
    nothing: `${label}: there is nothing to bring again`,
    always: true,
    withdraws: (await openConflicts(context)).filter((one) => one.record.undo === id),
  };
}

/** What a redone undo took back, to be taken back again. */
function again({ selective, fromSeq }: LoggedOperation): Work {
  const { selection = "", took = [] } = selective ?? {};
  const first = took[0]?.[0] ?? fromSeq;
  return {
    label: selection,
    fromSeq: first - 1,
    toSeq: took.at(-1)?.[1] ?? first,
    // Those of restores and undos are among them only where everything was meant.
    ...(/^(?:file|since) /.test(selection) ? { everything: true as const } : {}),
    isOwn: (_record, _path, seq) => holdsSeq(took, seq),
  };
}

/** What is left of an operation of which a part was taken back by itself; `undefined`: it is whole, or has no events. */
async function partOf(
  context: Context,
  operation: LoggedOperation,
  { direction, taken }: Step & { readonly taken: ReturnType<typeof takenBy> },
): Promise<Work | undefined> {
  const { id, kind, fromSeq, toSeq } = operation;
  if (direction === "redo" || kind === "undo" || kind === "redo") return undefined;
  const touching = [...taken.undos.values()].filter(({ took }) => {
    return took.some(([first, last]) => first <= toSeq && last > fromSeq);
  });
  if (touching.length === 0) return undefined;
  const runs = new Map((await actionsIn(context)).map((one) => [one.id, one.run]));
  const isOwn: Work["isOwn"] = (record) =>
    idsOf(record).includes(id) || (record.action !== undefined && runs.get(record.action) === id);
  for await (const { seq, record, path } of fileEvents(context, { fromSeq, toSeq })) {
    if (isOwn(record, path, seq) && touching.some(({ took }) => holdsSeq(took, seq)))
      return { label: `operation ${id}`, fromSeq, toSeq, isOwn };
  }
  return undefined;
}
