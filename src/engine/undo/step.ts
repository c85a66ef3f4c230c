import { withoutParts } from "./chosen-parts.ts";
import { holdsSteps } from "../../core/records/transaction-record.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { holdsSeq } from "../../core/values/seq-ranges.ts";
import type { UndoStack } from "../../core/records/undo-stack.ts";
import { addAll, greatestOf, leastOf } from "../../util/long-lists.ts";
import type { OwnChange } from "../facts/first-event.ts";
import { openConflicts } from "../facts/open-conflicts.ts";
import type { Context } from "../log/context.ts";
import { keepersWithin } from "../facts/keepers.ts";
import type { LoggedOperation, Selective } from "../facts/logged-operation.ts";
import { changesOfOperation, isReversed, isUndone, operationShape } from "./operations.ts";
import type { OwnWork, SeqSpan } from "../facts/own-changes.ts";
import { eventsOfWork, fileEvents, groupsOf, type Work } from "../facts/own-work.ts";
import { ownersIn, type Owners } from "../facts/owners.ts";
import type { Inversion } from "./invert-operation.ts";
import {
  type Covering,
  eventsTouched,
  isPartOf,
  isTakenIn,
  undoneBy,
  type UndoneEvents,
} from "../facts/undone-events.ts";
import { reversedTold } from "../facts/reversed-undos.ts";
import { labelOf } from "../facts/transaction-work.ts";
import { allTransactions } from "../facts/transactions.ts";
import { undoOf } from "./undo-selection.ts";
import type { PathClaim } from "../state/proved-rows.ts";
import { optional } from "../../util/optional.ts";

/**
 * Steps of undo and redo. Each step is about one operation, and inverts changes of this operation. Most steps invert
 * the net change of each path between the operation's beginning and end (`changesToInvert`). In these cases, a step
 * inverts only events that the operation itself made:
 * - Others' work or an undo of selected work is involved, or the operation is a part of another one (`inversionOf`).
 * - Paths of the operation were edited since, or somebody is changing them (`partStep`).
 */

/** The work that a step of a whole operation inverts. */
export interface StepWork extends OwnWork {
  /** For each operation that is inverted, the seq before its first event. */
  readonly starts: readonly number[];
}

/** A direction, and the operation to undo or redo. */
export interface NamedStep {
  readonly direction: "undo" | "redo";
  readonly operation: LoggedOperation;
}

export interface Step extends NamedStep {
  /** All operations, in the order of the log. */
  readonly operations: readonly LoggedOperation[];
  readonly stack: UndoStack;
}

/**
 * Returns the step that the named operation stands for. If the named operation is an undo of a whole operation, or a
 * redo, the step is about its target:
 * - Undoing or redoing an undo, and redoing a redo, redoes the target.
 * - Undoing a redo undoes the target.
 * - If the target is no longer recorded, the named undo or redo is undone like any other operation, even if a redo was
 *   asked for.
 *
 * For any other operation, returns `named`.
 */
export function stepMeant(operations: readonly LoggedOperation[], named: NamedStep): NamedStep {
  const { direction, operation } = named;
  if (!isStep(operation) || operation.selective !== undefined) return named;
  const target = operations.find((one) => one.id === operation.target);
  if (target === undefined) return { direction: "undo", operation };
  const isRedo = direction === "redo" || operation.kind === "undo";
  return stepMeant(operations, { direction: isRedo ? "redo" : "undo", operation: target });
}

/**
 * Returns the undo of selected work that undid the operation and nothing else. A redo of the operation must invert this
 * undo. Returns `undefined` if the operation is not undone, if no such undo is found, or if the undo targeted the
 * operation itself. Throws `REFUSED` in these cases:
 * - The undo also undid other work, for example because it was the undo of a larger operation. The changes of this undo
 *   cannot be divided.
 * - The undo was itself undone, together with other work.
 */
function undoAround(
  operations: readonly LoggedOperation[],
  { operation, stack }: { readonly operation: LoggedOperation; readonly stack: UndoStack },
): LoggedOperation | undefined {
  if (!isUndone(operation, stack)) return undefined;
  const undo = undoThatTook(operations, withAround(operations, operation));
  if (undo === undefined) return undefined;
  const redo = (id: string): string => `\`chronicle redo ${id.slice(0, 8)}\``;
  if (isReversed(undo)) {
    const later = reverserOf(undo, operations);
    if (later === undefined) return undefined;
    throw new ChronicleError("REFUSED", "the undo of this work was itself undone, together with other work", {
      hint: `${redo(later.id)} takes that later undo back; then ${redo(operation.id)} can redo this work`,
      data: { undo: later.id },
    });
  }
  if (undo.selective === undefined && undo.target === operation.id) return undefined;
  const all = operations.filter(
    ({ id, kind }) => kind !== "undo" && kind !== "redo" && isCoveredBy(undo, id, operations),
  );
  if (undo.selective !== undefined && all.every((one) => withAround(operations, one).has(operation.id))) return undo;
  const meant = undo.selective === undefined ? (undo.target ?? undo.id) : undo.id;
  throw togetherWithOthers({ operation, stack }, meant);
}

/**
 * Returns the undo of selected work that a redo of the operation must invert; `undefined` if the operation was undone
 * as a whole. Unlike `undoAround`, this function also looks at the operation's own events, because an undo of selected
 * work that undid only some of these events does not name the operation. Throws `REFUSED` in the cases of `undoAround`,
 * and if several undos undid the events.
 */
export async function undoToInvert(
  context: Context,
  operations: readonly LoggedOperation[],
  work: { readonly operation: LoggedOperation; readonly stack: UndoStack },
): Promise<LoggedOperation | undefined> {
  const { operation } = work;
  if (operation.selective !== undefined) return undoOnceMore(operations, work);
  if (!operations.some(({ selective }) => selective !== undefined)) return undoAround(operations, work);
  const { undos, isShared } = await undosOfEvents(context, operations, operation);
  const [first] = undos;
  const isOfWork = undos.some(({ selective, target }) => selective === undefined && target === operation.id);
  if (first === undefined || (isOfWork && !isShared)) return undoAround(operations, work);
  if (undos.length > 1) throw undoneBySeveral(work, undos);
  if (first.selective === undefined) return undoAround(operations, work);
  const effect = await effectOfRedo(context, { operation, operations }, first);
  if (effect.own && !effect.others) return first;
  // If the undo also undid an earlier undo of the work, this throws an error that names both redos.
  undoAround(operations, work);
  throw togetherWithOthers(work, first.id);
}

/**
 * Returns the undo that undid the operation's selected work once more. The operation is itself an undo of selected
 * work, which was redone. A redo of the operation must invert the later undo. Returns `undefined` if there is no later
 * undo. Throws `REFUSED` if the later undo also undid other work.
 */
function undoOnceMore(
  operations: readonly LoggedOperation[],
  { operation, stack }: { readonly operation: LoggedOperation; readonly stack: UndoStack },
): LoggedOperation | undefined {
  if (!stack.undone.has(operation.id)) return undefined;
  const undo = undoThatTook(operations, new Set([operation.id]));
  if (undo?.selective === undefined || isReversed(undo)) return undefined;
  const works = operations.filter((one) => !isStep(one) && isCoveredBy(undo, one.id, operations));
  if (works.every(({ id }) => isCoveredBy(operation, id, operations))) return undo;
  throw togetherWithOthers({ operation, stack }, undo.id);
}

/** The maximum number of `redo` commands that a hint names. */
const MOST_NAMED = 5;

type Undone = Pick<Step, "operation" | "stack">;

function undoneBySeveral(work: Undone, undos: readonly LoggedOperation[]): ChronicleError {
  const ids = new Set(undos.map((undo) => (undo.selective === undefined ? work.operation : undo).id));
  const ways = [...ids].slice(0, MOST_NAMED).map((id) => `\`chronicle redo ${id.slice(0, 8)}\``);
  const more = ids.size > ways.length ? `, and ${ids.size - ways.length} more (\`chronicle list\` shows them)` : "";
  return new ChronicleError("REFUSED", `${undonePart(work)} undone by several undos`, {
    hint: `${ways.join(", then ")}${more}: each redoes everything that one of these undos had undone`,
    data: { undos: undos.map(({ id }) => id) },
  });
}

function togetherWithOthers(work: Undone, undo: string): ChronicleError {
  return new ChronicleError("REFUSED", `${undonePart(work)} undone together with other work`, {
    hint: `\`chronicle redo ${undo.slice(0, 8)}\` redoes all of it together`,
    data: { undo },
  });
}

function undonePart({ operation, stack }: Undone): string {
  return isStep(operation) || isUndone(operation, stack) ? "this work was" : "a part of this work was";
}

/**
 * Returns the undos in force that undid events of the operation. Undos of selected work come before undos of whole
 * operations, and newer undos come before older ones. `isShared` is true if an undo of selected work and another undo
 * undid the same event.
 */
async function undosOfEvents(
  context: Context,
  operations: readonly LoggedOperation[],
  operation: LoggedOperation,
): Promise<{ readonly undos: readonly LoggedOperation[]; readonly isShared: boolean }> {
  const owners = await ownersIn(context);
  const taken = undoneBy(operations, owners);
  const bySpan = new Map<SeqSpan, LoggedOperation>(operations.map((one) => [one, one]));
  const found = new Set<LoggedOperation>();
  let isShared = false;
  for await (const { seq, record, path } of fileEvents(context, operation)) {
    if (!taken.mayHold(seq) || !owners.of(record).includes(operation.id)) continue;
    const by = taken.by(seq, record, path).flatMap((span) => bySpan.get(span) ?? []);
    if (by.length > 1 && by.some(({ selective }) => selective !== undefined)) isShared = true;
    for (const one of by) found.add(one);
  }
  const newest = operations.filter((one) => found.has(one)).toReversed();
  const [parts, wholes] = [true, false].map((isPart) =>
    newest.filter((one) => (one.selective !== undefined) === isPart),
  );
  return { undos: [...(parts ?? []), ...(wholes ?? [])], isShared };
}

/**
 * Returns the effects of a redo of the undo. `own` is true if the redo would bring back an event of the operation.
 * `others` is true if the redo would bring back or undo an event of other work. Undos and redos that the undo has
 * reversed are in force again after the redo.
 */
async function effectOfRedo(
  context: Context,
  { operation, operations }: Pick<Step, "operation" | "operations">,
  undo: LoggedOperation,
): Promise<{ readonly own: boolean; readonly others: boolean }> {
  const owners = await ownersIn(context);
  const { seq } = await context.index.head();
  const { selective: _selective, left: _left, ...span } = { ...undo, fromSeq: seq, toSeq: seq };
  const redo: LoggedOperation = { ...span, id: "", kind: "redo", target: undo.id };
  const redone = await reversedTold(context, [...operations, redo].map(notReversed));
  const [now, then] = [undoneBy(operations, owners), undoneBy(redone, owners)];
  const steps = new Set(operations.filter(isStep).map(({ id }) => id));
  const changed = operations.filter((one, i) => one === undo || !sameReversed(one, redone[i]));
  let [own, others] = [false, false];
  for (const span of changed.flatMap((one) => spansOf(operations, one))) {
    for await (const { seq, record, path } of fileEvents(context, span)) {
      const ids = owners.of(record);
      if (ids.some((id) => steps.has(id)) || now.holds(seq, record, path) === then.holds(seq, record, path)) continue;
      if (ids.includes(operation.id)) own = true;
      else others = true;
    }
  }
  return { own, others };
}

function isHeldOnlyBy(undo: LoggedOperation, undos: readonly SeqSpan[]): boolean {
  return undos.length > 0 && undos.every((one) => one === undo);
}

function notReversed(operation: LoggedOperation): LoggedOperation {
  const { reversed: _reversed, ...rest } = operation;
  return rest;
}

function sameReversed({ reversed: one }: LoggedOperation, other: LoggedOperation | undefined): boolean {
  const paths = other?.reversed?.paths ?? new Map();
  if (one?.isAll !== other?.reversed?.isAll || (one?.paths.size ?? 0) !== paths.size) return false;
  return [...(one?.paths.keys() ?? [])].every((path) => paths.has(path));
}

/** Returns the spans of the events that an undo undid, or that a redo brought back. */
function spansOf(operations: readonly LoggedOperation[], { selective, target }: LoggedOperation): readonly SeqSpan[] {
  const meant = selective === undefined ? operations.find(({ id }) => id === target) : undefined;
  const { took, met } = selective ?? meant?.selective ?? {};
  if (took === undefined || met === undefined) return meant === undefined ? [] : [meant];
  return [...took, ...met].map(([first, last]) => ({ fromSeq: first - 1, toSeq: last }));
}

/**
 * Returns the undo that undid work with any of these ids, and that was not redone; `undefined` if there is none. The
 * undo may have been reversed since (`isReversed`). If several undos fit, returns the first after the last redo or
 * reversal. Undos that changed nothing never count.
 */
function undoThatTook(operations: readonly LoggedOperation[], ids: ReadonlySet<string>): LoggedOperation | undefined {
  let took: LoggedOperation | undefined;
  for (const one of operations) {
    const { kind, target, selective } = one;
    const isRedo = kind === "redo" && !isReversed(one);
    if (isRedo && took !== undefined && target === (took.selective === undefined ? took.target : took.id))
      took = undefined;
    if (kind !== "undo" || selective?.isNothing === true) continue;
    const isTaken = took !== undefined && !(isReversed(took) && reversedAt(took) <= one.fromSeq);
    if (!isTaken && [...ids].some((id) => isCoveredBy(one, id, operations))) took = one;
  }
  return took;
}

/** Returns the seq of the last event of the undos that reversed this undo; 0 if this undo was not reversed. */
function reversedAt({ reversed }: LoggedOperation): number {
  return Math.max(0, greatestOf([...(reversed?.paths.values() ?? [])]));
}

/** Returns the latest undo that reversed this undo; `undefined` if no recorded undo has reversed this undo. */
function reverserOf(undo: LoggedOperation, operations: readonly LoggedOperation[]): LoggedOperation | undefined {
  const at = reversedAt(undo);
  return operations.find(({ kind, fromSeq, toSeq }) => kind === "undo" && fromSeq < at && at <= toSeq);
}

/**
 * True if the undo names this id: as its target, or as work that it undid completely. An undo that repeats an earlier
 * undo of selected work also names the work that the earlier undo named.
 */
function isCoveredBy(undo: LoggedOperation, id: string, operations: readonly LoggedOperation[]): boolean {
  if (undo.selective === undefined) return undo.target === id;
  return undo.selective.takes.some((taken) => {
    const inner = operations.find((one) => one.id === taken);
    return taken === id || (inner?.selective !== undefined && isCoveredBy(inner, id, operations));
  });
}

/** Returns the ids of the operation, and of the larger operations of which it is a part. */
function withAround(operations: readonly LoggedOperation[], { id, partOf }: LoggedOperation): ReadonlySet<string> {
  const ids = new Set([id]);
  for (let around = partOf; around !== undefined && !ids.has(around);) {
    ids.add(around);
    around = operations.find((one) => one.id === around)?.partOf;
  }
  return ids;
}

function isStep({ kind }: LoggedOperation): boolean {
  return kind === "undo" || kind === "redo";
}

/**
 * Returns the changes that a step inverts:
 * - A redo inverts the changes of the last consecutive undos of the operation. There can be several such undos, because
 *   a second undo can undo what the first one left.
 * - If the last step of the operation was a redo, an undo inverts the changes of the last consecutive redos. The undo
 *   then brings back edits that these redos overwrote with `--force`.
 * - Any other undo inverts the operation itself.
 *
 * Undos and redos that were reversed do not count (`isReversed`).
 */
export async function changesToInvert(context: Context, { direction, operation, operations }: Step): Promise<StepWork> {
  const steps = operations.filter(
    (one) => one.target === operation.id && one.selective === undefined && !isReversed(one),
  );
  if (direction === "redo") return together(context, lastOf(steps.slice(0, lastIndexOf(steps, "undo") + 1), "undo"));
  const redos = steps.at(-1)?.kind === "redo" ? lastOf(steps, "redo") : [];
  // The change of the operation itself can be in force at paths where redos were reversed. The step inverts this
  // change at such paths.
  const isSomeReversed = redos.some(({ reversed }) => reversed !== undefined);
  return together(context, redos.length === 0 || isSomeReversed ? [operation, ...redos] : redos);
}

function lastIndexOf(steps: readonly LoggedOperation[], kind: "undo" | "redo"): number {
  return steps.findLastIndex((one) => one.kind === kind);
}

function lastOf(steps: readonly LoggedOperation[], kind: "undo" | "redo"): readonly LoggedOperation[] {
  const others = steps.findLastIndex((one) => one.kind !== kind);
  return steps.slice(others + 1);
}

/**
 * Returns the changes of all these operations. For a path that several of them changed, returns the change of the last
 * one.
 */
async function together(context: Context, operations: readonly LoggedOperation[]): Promise<StepWork> {
  const changes = new Map<WorkspacePath, OwnChange>();
  const claims: PathClaim[] = [];
  for (const one of operations) {
    const work = await changesOfOperation(context, one);
    // If an undo or redo was reversed at a path, nothing of it is left to invert at this path.
    for (const change of work.changes)
      if (one.reversed?.paths.has(change.path) !== true) changes.set(change.path, change);
    addAll(claims, work.claims);
  }
  return { changes: [...changes.values()], claims, starts: operations.map(({ fromSeq }) => fromSeq) };
}

/**
 * Returns the step as an inversion of the operation's own events if others' work or an undo of selected work is
 * involved, or if the operation is a part of another one. Otherwise returns `undefined`: the step then inverts the
 * operation as a whole.
 */
export async function inversionOf(context: Context, step: Step): Promise<Inversion | undefined> {
  return (await selectiveStep(context, step)) ?? (await interleavedStep(context, step));
}

/**
 * Returns the undo of an operation's work as a step of the undo stack. The step is recorded even if no file changes.
 */
async function stepOver(context: Context, work: Work, { operation, stack }: Step): Promise<Inversion> {
  return { ...(await undoOf(context, work)), always: true, operation: operationShape(operation, stack) };
}

/** True for a redo, and for the undo of an undo or redo. Such a step is done as a whole or not at all. */
function isWhole({ direction, operation }: Step): boolean {
  return direction === "redo" || isStep(operation);
}

/**
 * Returns the inversion for three kinds of steps:
 * - A redo of an undo of selected work. The undo of such an undo, while it is in force, also counts as a redo.
 * - An undo of an undo of selected work that was redone or reversed. This step undoes the selected work once more.
 * - An undo of an operation if a part of the operation was undone already. This step undoes the rest.
 *
 * Returns `undefined` for any other step.
 */
async function selectiveStep(context: Context, step: Step): Promise<Inversion | undefined> {
  const { direction, operation, operations, stack } = step;
  const { id, selective } = operation;
  if (!operations.some((one) => one.selective !== undefined || isUndoWithin(one, operation))) return undefined;
  const owners = await ownersIn(context);
  const taken = undoneBy(operations, owners);
  const isInForce = taken.undos.has(id) && operation.reversed === undefined;
  if (selective !== undefined && (direction === "redo" || isInForce))
    return {
      ...(await redoOf(context, operation, { operations, taken })),
      operation: operationShape(operation, stack),
    };
  if (selective === undefined) {
    const work = await partOf(context, step, { taken, owners });
    return work === undefined ? undefined : stepOver(context, work, step);
  }
  const once = await stepOver(context, await again(context, operation, { operations, taken }), step);
  return { ...once, parts: selective.parts };
}

/**
 * Returns the work that a step undoes, and the operation that this work belongs to. If the step is about an undo of
 * selected work, returns the selected work. If the step is about a redo or an undo of a whole operation, returns the
 * work of its target (`stepMeant`).
 *
 * `isNarrowed` is true if the caller chose parts of the work and named no operation. If the step is then about an undo
 * of some hunks, the returned work has all its hunks in the same files.
 */
export async function workToUndo(
  context: Context,
  step: Step,
  { isNarrowed }: { readonly isNarrowed: boolean },
): Promise<{ readonly operation: LoggedOperation; readonly work: Work }> {
  const { operations } = step;
  const { operation } = stepMeant(operations, step);
  const { selective } = operation;
  if (selective === undefined) return { operation, work: withoutStep(await workOf(context, operation)) };
  const taken = undoneBy(operations, await ownersIn(context));
  const work = withoutStep(await again(context, operation, { operations, taken }));
  if (selective.parts.length === 0 || !isNarrowed) return { operation, work };
  const all = withAllHunks(work, selective);
  return { operation: operations.find(({ id }) => all.label === `operation ${id}`) ?? operation, work: all };
}

/** Extends the work of an undo of some hunks to all hunks of this work in the same files. */
function withAllHunks(work: Work, selective: Selective): Work {
  const took = eventsTouched(selective);
  const paths = selective.parts.map(({ path }) => path);
  return {
    ...work,
    label: withoutParts(work.label, paths),
    ...(work.known === undefined ? {} : { known: withoutParts(work.known, paths) }),
    fromSeq: leastOf(took.map(([first]) => first)) - 1,
    toSeq: greatestOf(took.map(([, last]) => last)),
    isOwn: (_record, _path, seq) => holdsSeq(took, seq),
  };
}

/** Returns the work without the id of its operation, because the caller may undo only a part of the operation. */
function withoutStep({ operation: _operation, ...work }: Work): Work {
  return work;
}

/** True if the first operation is an undo that ended while the second operation was open. */
function isUndoWithin({ kind, toSeq }: LoggedOperation, { fromSeq, toSeq: end }: LoggedOperation): boolean {
  return kind === "undo" && toSeq > fromSeq && toSeq <= end;
}

/**
 * Returns the redo of an undo of selected work. The redo inverts what the undo wrote, except at paths where the undo
 * was reversed, and at the paths of `pathsNotHeld`. The redo also withdraws the conflicts of later undos of the same
 * work that changed nothing, because such undos have no redo of their own.
 */
async function redoOf(
  context: Context,
  operation: LoggedOperation,
  { operations, taken }: Pick<Covering, "operations" | "taken">,
): Promise<Omit<Inversion, "operation">> {
  const { id, fromSeq, toSeq, selective, reversed } = operation;
  await refuseRebuilt(context, operation, { operations, taken });
  const label = selective?.selection ?? "";
  const again = operations.filter(
    (one) => one.toSeq > toSeq && one.selective?.isNothing === true && one.selective.selection === label,
  );
  const redos = operations.filter((one) => one.kind === "redo" && one.target === id);
  const replaced = new Set([id, ...[...again, ...redos].map((one) => one.id)]);
  const notHeld = await pathsNotHeld(context, operation, taken);
  const isOwn: Work["isOwn"] = (record, path) =>
    record.intent === id && reversed?.paths.has(path) !== true && !notHeld.has(path);
  const own = await eventsOfWork(context, { label, fromSeq, toSeq, isOwn });
  return {
    kind: "redo",
    summary: `redo of ${wordsOfUndo(operation) ?? label}`,
    label,
    own,
    about: { target: id },
    nothing: `${label}: there is nothing to redo`,
    always: reversed?.isAll !== true,
    withdraws: (await openConflicts(context)).filter(({ record: { undo } }) => replaced.has(undo)),
  };
}

/**
 * Throws `REFUSED` for the redo of an undo of hunks if a later undo in force undid more of the same changes. The later
 * undo computed its result from the state without the hunks of the earlier undo, so the later undo must be redone
 * first.
 */
async function refuseRebuilt(
  context: Context,
  undo: LoggedOperation,
  { operations, taken }: Pick<Covering, "operations" | "taken">,
): Promise<void> {
  for (const { path, took } of undo.selective?.parts ?? []) {
    const all = await context.index.iterations(path);
    const rows = all.filter(({ seq }) => holdsSeq(took, seq));
    const isMore = ({ id, fromSeq, toSeq, selective }: LoggedOperation): boolean => {
      if (toSeq <= undo.toSeq || selective === undefined || !taken.isInForceAt(id, path)) return false;
      // An undo of hunks that wrote nothing has only met a conflict.
      const isWritten = all.some(({ seq }) => seq > fromSeq && seq <= toSeq);
      return rows.some(({ seq }) => isTakenIn(selective, seq, path) || (isWritten && isPartOf(selective, seq, path)));
    };
    const later = operations.findLast(isMore);
    if (later === undefined) continue;
    throw new ChronicleError("REFUSED", "a later undo has taken back more of the same changes", {
      hint: `\`chronicle redo ${later.id.slice(0, 8)}\` brings these changes back; then this undo can be redone`,
      data: { undo: later.id },
    });
  }
}

/**
 * Returns the paths that a redo of the undo leaves as they are. No event of such a path is undone by this undo alone.
 * There are two cases:
 * - Another undo in force undid the same events.
 * - No undo in force undid events of the path, because an earlier redo brought them back. Such a path is returned only
 *   if this undo alone still undoes events of another path, where that redo met a conflict.
 *
 * An event that did not merge (`met`) counts as undone while the undo is in force at its path, because a part of the
 * path's changes may have merged.
 */
async function pathsNotHeld(
  context: Context,
  undo: LoggedOperation,
  taken: UndoneEvents,
): Promise<ReadonlySet<WorkspacePath>> {
  const { took = [], met = [] } = undo.selective ?? {};
  const [own, others, free] = [new Set<WorkspacePath>(), new Set<WorkspacePath>(), new Set<WorkspacePath>()];
  for (const [first, last] of [...took, ...met]) {
    for await (const { seq, record, path } of fileEvents(context, { fromSeq: first - 1, toSeq: last })) {
      const undos = taken.by(seq, record, path);
      const isInPart = undos.length === 0 && holdsSeq(met, seq) && taken.isInForceAt(undo.id, path);
      if (isInPart || isHeldOnlyBy(undo, undos)) own.add(path);
      else if (undos.length === 0) free.add(path);
      else others.add(path);
    }
  }
  const left = own.size === 0 ? [...others] : [...others, ...free];
  return new Set(left.filter((path) => !own.has(path)));
}

/** Returns the words that name the undone work in the summary of the undo; `undefined` if the summary has none. */
function wordsOfUndo({ summary }: LoggedOperation): string | undefined {
  return summary.startsWith(UNDO_OF) ? summary.slice(UNDO_OF.length) : undefined;
}

const UNDO_OF = "undo of ";

/** Returns the selected work of an undo that was redone or reversed, so that the work can be undone once more. */
async function again(
  context: Context,
  undo: LoggedOperation,
  { operations, taken }: Pick<Covering, "operations" | "taken">,
): Promise<Work> {
  const { id, selective, fromSeq } = undo;
  const transactions = await allTransactions(context);
  const { selection = "" } = selective ?? {};
  // Changes that did not merge are tried again.
  const took = [...(selective?.took ?? []), ...(selective?.met ?? [])].sort(([a], [b]) => a - b);
  const isWithSteps = transactions.some((one) => holdsSteps(one) && labelOf(one) === selection);
  // Events of restores and undos are included only if the earlier undo included them.
  const isEverything = isWithSteps || /^(?:file|since|to) /.test(selection);
  // The events of the redos tell which hunks of a path were undone.
  const parts = new Set(selective?.parts.map(({ path }) => path));
  const redos = parts.size === 0 ? [] : operations.filter(({ kind, target }) => kind === "redo" && target === id);
  const redone = new Set(redos.map((one) => one.id));
  const starts = [took[0]?.[0], redos[0] === undefined ? undefined : redos[0].fromSeq + 1];
  const first = Math.min(leastOf(starts.filter((seq) => seq !== undefined)), Number.MAX_SAFE_INTEGER);
  return {
    label: selection,
    ...optional({ known: wordsOfUndo(undo) }),
    operation: id,
    keepers: await keepersWithin(context, takenWith(id, operations)),
    fromSeq: (first === Number.MAX_SAFE_INTEGER ? fromSeq : first) - 1,
    toSeq: Math.max(took.at(-1)?.[1] ?? fromSeq, redos.at(-1)?.toSeq ?? 0),
    ...(isEverything ? { everything: true as const } : {}),
    // The earlier undo is still in force at paths where its redo met a conflict. If the work includes everybody's
    // events, the events that are still undone are left out here. For other work, `undoOf` leaves out undone events.
    isOwn: (record, path, seq) =>
      (holdsSeq(took, seq) && !(isEverything && taken.by(seq, record, path).includes(undo))) ||
      (record.intent !== undefined && redone.has(record.intent) && parts.has(path)),
  };
}

/**
 * Returns the id of an undo of selected work, and the ids of all work that it undid, directly or through other such
 * undos.
 */
function takenWith(undo: string, operations: readonly LoggedOperation[]): ReadonlySet<string> {
  const all = new Set([undo]);
  for (const id of all) {
    const { takes = [], passes = [] } = operations.find((one) => one.id === id)?.selective ?? {};
    for (const one of [...takes, ...passes]) all.add(one);
  }
  return all;
}

/**
 * Returns the operation as work if a part of the operation was undone separately. Otherwise returns `undefined`. Also
 * returns `undefined` if the step is done as a whole or not at all.
 */
async function partOf(
  context: Context,
  step: Step,
  { taken, owners }: { readonly taken: UndoneEvents; readonly owners: Owners },
): Promise<Work | undefined> {
  if (isWhole(step)) return undefined;
  const { operation, operations, stack } = step;
  const { id, fromSeq, toSeq } = operation;
  const touching = [...taken.undos.values()].map(eventsTouched).filter((took) => {
    return took.some(([first, last]) => first <= toSeq && last > fromSeq);
  });
  const isPartTaken = !stack.undone.has(id) && operations.some((one) => isUndoWithin(one, operation));
  if (touching.length === 0 && !isPartTaken) return undefined;
  for await (const { seq, record, path } of fileEvents(context, { fromSeq, toSeq })) {
    if (!owners.of(record).includes(id)) continue;
    const isTaken = touching.some((took) => holdsSeq(took, seq)) || (isPartTaken && taken.holds(seq, record, path));
    if (isTaken) return workOf(context, operation);
  }
  return undefined;
}

/**
 * Returns the undo of a run, action or transaction as an inversion of only those events that the operation made.
 * Changes that others made to the same paths in between therefore stay. Returns `undefined` if there are no such
 * changes and the operation is not a part of another one. Also returns `undefined` for a redo, and for other kinds of
 * operations.
 */
async function interleavedStep(context: Context, step: Step): Promise<Inversion | undefined> {
  const { direction, operation } = step;
  if (direction === "redo" || !["run", "action", "transaction"].includes(operation.kind)) return undefined;
  const work = await workOf(context, operation);
  const groups = await groupsOf(context, await eventsOfWork(context, work));
  // A part of an operation is inverted by its own events, so that the rest can be undone later.
  if (operation.partOf === undefined && groups.every((one) => one.groups.length === 1)) return undefined;
  return stepOver(context, work, step);
}

/**
 * Returns the undo as an inversion of the operation's own events. The inversion is merged with later edits, and leaves
 * out paths that somebody is changing: the paths in `leaves`, and paths that are found to be changing while the files
 * are written. These paths can be undone later. Returns `undefined` for a step that is done as a whole or not at all.
 */
export async function partStep(
  context: Context,
  step: Step,
  leaves?: Inversion["leaves"],
): Promise<Inversion | undefined> {
  if (isWhole(step)) return undefined;
  return { ...(await stepOver(context, await workOf(context, step.operation), step)), ...optional({ leaves }) };
}

/**
 * Returns an operation as work: its own events, the events of everything within it, and its keepers (the runs and
 * actions for which files may have been kept aside).
 */
async function workOf(context: Context, { id, kind, summary, fromSeq, toSeq }: LoggedOperation): Promise<Work> {
  const owners = await ownersIn(context);
  const isOwn: Work["isOwn"] = (record) => owners.of(record).includes(id);
  const keepers = await keepersWithin(context, new Set([id]));
  const known = `${kind}: ${summary}`;
  return { label: `operation ${id}`, known, operation: id, fromSeq, toSeq, back: fromSeq, isOwn, keepers };
}
