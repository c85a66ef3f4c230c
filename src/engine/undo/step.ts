import { holdsSteps } from "../../core/records/transaction-record.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { holdsSeq } from "../../core/values/seq-ranges.ts";
import type { UndoStack } from "../../core/records/undo-stack.ts";
import { addAll } from "../../util/long-lists.ts";
import type { OwnChange } from "../facts/first-event.ts";
import { openConflicts } from "../facts/open-conflicts.ts";
import type { Context } from "../log/context.ts";
import { keepersWithin } from "../facts/keepers.ts";
import type { LoggedOperation } from "../facts/logged-operation.ts";
import { changesOfOperation, operationShape } from "./operations.ts";
import type { OwnWork } from "../facts/own-changes.ts";
import { eventsOfWork, fileEvents, groupsOf, type Work } from "../facts/own-work.ts";
import { ownersIn, type Owners } from "../facts/owners.ts";
import type { Inversion } from "./invert-operation.ts";
import { undoneBy, type UndoneEvents } from "../facts/undone-events.ts";
import { labelOf } from "../facts/transaction-work.ts";
import { allTransactions } from "../facts/transactions.ts";
import { undoOf } from "./undo-selection.ts";
import type { PathClaim } from "../state/proved-rows.ts";
import { optional } from "../../util/optional.ts";

/**
 * A step of undo or redo: the operation that it is about, and what it inverts. Most steps take an operation back as a whole
 * (`changesToInvert`). Where others' work, or an undo of somebody's work, plays a part, a step inverts the operation's own events
 * (`inversionOf`, `crossedStep`, `partStep`).
 */

/** The work of some operations, and the events after which they began. */
export interface StepWork extends OwnWork {
  readonly starts: readonly number[];
}

/** A step and its operation. */
export interface NamedStep {
  readonly direction: "undo" | "redo";
  readonly operation: LoggedOperation;
}

/** A step, and what is known of all operations. */
export interface Step extends NamedStep {
  readonly operations: readonly LoggedOperation[];
  readonly stack: UndoStack;
}

/**
 * The step that is meant where an undo or a redo is named: another step of the operation that it was about. To undo an undo is to redo
 * that operation, and so is to redo an undo. Where that operation is not there any more, the step is undone for itself.
 */
export function stepMeant(operations: readonly LoggedOperation[], named: NamedStep): NamedStep {
  const { direction, operation } = named;
  if (!isStep(operation) || operation.selective !== undefined) return named;
  const target = operations.find((one) => one.id === operation.target);
  if (target === undefined) return { direction: "undo", operation };
  const isRedo = direction === "redo" || operation.kind === "undo";
  return stepMeant(operations, { direction: isRedo ? "redo" : "undo", operation: target });
}

function isStep({ kind }: LoggedOperation): boolean {
  return kind === "undo" || kind === "redo";
}

/**
 * The changes that a step inverts. A redo takes back what the last undos of the operation have written, those that followed one another: the
 * second may have had a part left to take. Once an operation was redone, an undo takes back what the redos have written, and else the
 * operation: so it brings back what was there before, whatever `--force` took along.
 */
export async function changesToInvert(context: Context, { direction, operation, operations }: Step): Promise<StepWork> {
  const steps = operations.filter(({ target, selective }) => target === operation.id && selective === undefined);
  if (direction === "redo") return together(context, lastOf(steps.slice(0, lastIndexOf(steps, "undo") + 1), "undo"));
  return together(context, steps.at(-1)?.kind === "redo" ? lastOf(steps, "redo") : [operation]);
}

function lastIndexOf(steps: readonly LoggedOperation[], kind: "undo" | "redo"): number {
  return steps.findLastIndex((one) => one.kind === kind);
}

/** The last steps, as far as they are all of one kind. */
function lastOf(steps: readonly LoggedOperation[], kind: "undo" | "redo"): readonly LoggedOperation[] {
  const others = steps.findLastIndex((one) => one.kind !== kind);
  return steps.slice(others + 1);
}

/** The changes of these operations: of each path, those of the last one that changed it. */
async function together(context: Context, operations: readonly LoggedOperation[]): Promise<StepWork> {
  const changes = new Map<WorkspacePath, OwnChange>();
  const claims: PathClaim[] = [];
  for (const one of operations) {
    const work = await changesOfOperation(context, one);
    for (const change of work.changes) changes.set(change.path, change);
    addAll(claims, work.claims);
  }
  return { changes: [...changes.values()], claims, starts: operations.map(({ fromSeq }) => fromSeq) };
}

/** The step as an inversion of events, where others' work or an undo of it plays a part. `undefined`: an ordinary step. */
export async function inversionOf(context: Context, step: Step): Promise<Inversion | undefined> {
  return (await selectiveStep(context, step)) ?? (await interleavedStep(context, step));
}

/** The undo of a piece of work, as a step of the stack: recorded even where nothing is to be changed. */
async function stepOver(context: Context, work: Work, { operation, stack }: Step): Promise<Inversion> {
  return { ...(await undoOf(context, work)), always: true, operation: operationShape(operation, stack) };
}

/** True for a redo, and for the undo of an undo or redo: they are done whole or not at all. */
function isWhole({ direction, operation }: Step): boolean {
  return direction === "redo" || isStep(operation);
}

/**
 * Returns the step if undos of somebody's work play a part: the redo of one, the undo of a redone one, the undo of an
 * operation of which a part was taken back already. `undefined`: an ordinary step.
 */
async function selectiveStep(context: Context, step: Step): Promise<Inversion | undefined> {
  const { direction, operation, operations, stack } = step;
  const { id, selective } = operation;
  if (!operations.some((one) => one.selective !== undefined || isUndoWithin(one, operation))) return undefined;
  const owners = await ownersIn(context);
  const taken = undoneBy(operations, owners);
  if (selective !== undefined && (direction === "redo" || taken.undos.has(id)))
    return { ...(await redoOf(context, operation)), operation: operationShape(operation, stack) };
  const work =
    selective === undefined
      ? await partOf(context, step, { taken, owners })
      : await again(context, operation, operations);
  return work === undefined ? undefined : stepOver(context, work, step);
}

/** True if it is an undo that was done while the operation went on. */
function isUndoWithin({ kind, toSeq }: LoggedOperation, { fromSeq, toSeq: end }: LoggedOperation): boolean {
  return kind === "undo" && toSeq > fromSeq && toSeq <= end;
}

/** The redo of an undo of somebody's work: the inverse of what that undo wrote. */
async function redoOf(context: Context, operation: LoggedOperation): Promise<Omit<Inversion, "operation">> {
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

/** Returns the step that takes back again what a redone undo took back. */
async function again(
  context: Context,
  { id, selective, fromSeq }: LoggedOperation,
  operations: readonly LoggedOperation[],
): Promise<Work> {
  const transactions = await allTransactions(context);
  const { selection = "" } = selective ?? {};
  // Changes that did not merge then are tried again.
  const took = [...(selective?.took ?? []), ...(selective?.met ?? [])].sort(([a], [b]) => a - b);
  const isWithSteps = transactions.some((one) => holdsSteps(one) && labelOf(one) === selection);
  const first = took[0]?.[0] ?? fromSeq;
  return {
    label: selection,
    operation: id,
    keepers: await keepersWithin(context, takenWith(id, operations)),
    fromSeq: first - 1,
    toSeq: took.at(-1)?.[1] ?? first,
    // Events of restores and undos are included only if everything was meant.
    ...(isWithSteps || /^(?:file|since) /.test(selection) ? { everything: true as const } : {}),
    isOwn: (_record, _path, seq) => holdsSeq(took, seq),
  };
}

/** Returns the ids that an undo of somebody's work took, and those that the redone undos among them took. */
function takenWith(undo: string, operations: readonly LoggedOperation[]): ReadonlySet<string> {
  const all = new Set([undo]);
  // A set's iterator goes on with what is added on the way.
  for (const id of all) {
    const { takes = [], passes = [] } = operations.find((one) => one.id === id)?.selective ?? {};
    for (const one of [...takes, ...passes]) all.add(one);
  }
  return all;
}

/**
 * Returns what is left of an operation of which a part was taken back by itself; `undefined`: it is whole, or has no
 * events.
 */
async function partOf(
  context: Context,
  step: Step,
  { taken, owners }: { readonly taken: UndoneEvents; readonly owners: Owners },
): Promise<Work | undefined> {
  if (isWhole(step)) return undefined;
  const { operation, operations, stack } = step;
  const { id, fromSeq, toSeq } = operation;
  const touching = [...taken.undos.values()].filter(({ took }) => {
    return took.some(([first, last]) => first <= toSeq && last > fromSeq);
  });
  const isPartTaken = !stack.undone.has(id) && operations.some((one) => isUndoWithin(one, operation));
  if (touching.length === 0 && !isPartTaken) return undefined;
  for await (const { seq, record, path } of fileEvents(context, { fromSeq, toSeq })) {
    if (!owners.of(record).includes(id)) continue;
    const isTaken = touching.some(({ took }) => holdsSeq(took, seq)) || (isPartTaken && taken.holds(seq, record, path));
    if (isTaken) return workOf(context, operation);
  }
  return undefined;
}

/**
 * The undo of an operation into which others' work on the same path fell: what they did between two of its own changes is
 * kept. `undefined`: each path's own changes follow one another.
 */
async function interleavedStep(context: Context, step: Step): Promise<Inversion | undefined> {
  const { direction, operation } = step;
  if (direction === "redo" || !["run", "action", "transaction"].includes(operation.kind)) return undefined;
  const work = await workOf(context, operation);
  const groups = await groupsOf(context, await eventsOfWork(context, work));
  // A part of an operation is taken back by itself, so that the rest can be taken back later.
  if (operation.partOf === undefined && groups.every((one) => one.groups.length === 1)) return undefined;
  return stepOver(context, work, step);
}

/**
 * The undo of an operation whose paths were edited since, where an undo of somebody's work (or its redo) had a part in
 * each of these edits: that is no reason to refuse. `undefined`: others edited as well, or alone.
 */
export async function crossedStep(
  context: Context,
  step: Step,
  edited: readonly WorkspacePath[],
): Promise<Inversion | undefined> {
  if (isWhole(step)) return undefined;
  const { operation, operations } = step;
  const selective = new Set(operations.filter((one) => one.selective !== undefined).map((one) => one.id));
  const crossing = operations.filter(({ id, target, toSeq }) => {
    return toSeq > operation.toSeq && (selective.has(id) || (target !== undefined && selective.has(target)));
  });
  if (crossing.length === 0) return undefined;
  for (const path of edited) {
    const rows = await context.index.iterations(path);
    // All events between an intent's beginning and its end are its own.
    const isCrossed = rows.some(({ seq }) => crossing.some((one) => seq > one.fromSeq && seq <= one.toSeq));
    if (!isCrossed) return undefined;
  }
  return partStep(context, step);
}

/**
 * The undo of an operation of which a part is changed meanwhile: that is left alone (`leaves`, and what is met on the way), and
 * stays to be undone. `undefined`: a redo, and the undo of an undo or redo, are done whole or not at all.
 */
export async function partStep(
  context: Context,
  step: Step,
  leaves?: Inversion["leaves"],
): Promise<Inversion | undefined> {
  if (isWhole(step)) return undefined;
  return { ...(await stepOver(context, await workOf(context, step.operation), step)), ...optional({ leaves }) };
}

/** An operation as a piece of work: its own events, those of what goes on within it, and what was kept aside for both. */
async function workOf(context: Context, { id, fromSeq, toSeq }: LoggedOperation): Promise<Work> {
  const owners = await ownersIn(context);
  const isOwn: Work["isOwn"] = (record) => owners.of(record).includes(id);
  const keepers = await keepersWithin(context, new Set([id]));
  return { label: `operation ${id}`, operation: id, fromSeq, toSeq, back: fromSeq, isOwn, keepers };
}
