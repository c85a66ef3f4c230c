import type { FileRecord } from "../../core/values/file-record.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { holdsAnySeq, holdsSeq, type SeqRanges } from "../../core/values/seq-ranges.ts";
import type { UndoStack } from "../../core/records/undo-stack.ts";
import { greatestOf, leastOf } from "../../util/long-lists.ts";
import type { Context } from "../log/context.ts";
import type { LoggedOperation, Selective } from "./logged-operation.ts";
import type { SeqSpan } from "./own-changes.ts";
import { allKeepers } from "./keepers.ts";
import { fileEvents, type Keeper, keepersOf, type OwnEvents, type Work } from "./own-work.ts";
import type { Owners } from "./owners.ts";

/** Finds out which events are undone, and which operations are undone as a whole. */

export interface UndoneEvents {
  /** Maps the id of each undo of selected work that was not redone to its selection. */
  readonly undos: ReadonlyMap<string, Selective>;
  /** True if any undo is in force. */
  readonly isAny: boolean;
  /** The spans of the undos in force that met no conflict. */
  readonly clean: ReadonlySet<SeqSpan>;
  /** Returns false if no undo can have undone the event with this seq. */
  readonly mayHold: (seq: number) => boolean;
  /** Returns false if no undo can have undone an event from `first` to `last`, not even one hunk of it. */
  readonly mayTouch: (first: number, last: number) => boolean;
  /** Returns true if this event of a file is undone. */
  readonly holds: (seq: number, record: FileRecord, path: WorkspacePath) => boolean;
  /** Returns the spans of the undos that undid this event of a file. */
  readonly by: (seq: number, record: FileRecord, path: WorkspacePath) => readonly SeqSpan[];
  /**
   * Returns true if the undo of selected work with this id is in force at the path: neither a redo nor a later undo has
   * taken back its effect at that path. Unlike `by`, this function also counts paths at which the undo met a conflict.
   */
  readonly isInForceAt: (undo: string, path: WorkspacePath) => boolean;
  /** Returns the undos in force that undid only some hunks of the path, the newest first. */
  readonly partsAt: (path: WorkspacePath) => readonly HunkUndo[];
}

/** An undo of some hunks of a path: the undo's span, and the events whose changes the undo undid in part. */
export interface HunkUndo extends SeqSpan {
  readonly took: SeqRanges;
}

/** An undo with its own span, and the paths at which it is in force. */
interface Undo {
  readonly own: SeqSpan;
  /** The paths at which later undos have reversed this undo, each with the last event of the later undo. */
  readonly reversed: ReadonlyMap<WorkspacePath, number>;
  /** True if the undo is in force nowhere (see `isGone`). */
  readonly isGone: boolean;
  /**
   * The paths at which the undo is in force again. Set if the undo was redone, and the redo was then reversed at these
   * paths.
   */
  readonly only?: ReadonlySet<WorkspacePath>;
}

interface WholeUndo extends Undo {
  /** The span of the undone events. Events of the span whose paths are in `left` are not undone. */
  readonly target: SeqSpan;
  readonly left: readonly WorkspacePath[];
}

interface PartUndo extends Undo {
  readonly selective: Selective;
}

/**
 * Returns which events are undone by the undos in force as of event `upTo` (default: now). `operations` must have all
 * operations.
 */
export function undoneBy(
  operations: readonly LoggedOperation[],
  owners: Owners,
  upTo = Number.POSITIVE_INFINITY,
): UndoneEvents {
  const parts = new Map<string, PartUndo>();
  const whole = new Map<string, readonly WholeUndo[]>();
  const spans = new Map<string, SeqSpan>(operations.map((one) => [one.id, one]));
  for (const later of operations) {
    if (later.toSeq > upTo) continue;
    const operation = reversedUpTo(later, upTo);
    const { id, kind, target, selective, left = [] } = operation;
    const step = { own: operation, isGone: isGone(operation) };
    if (selective !== undefined) parts.set(id, { ...step, selective, reversed: reversedIn(operation) });
    else if (target !== undefined && kind === "undo") {
      const earlier = whole.get(target) ?? [];
      const undo = {
        ...step,
        target: undoneSpan(spans.get(target) ?? ALWAYS, operation),
        left,
        reversed: new Map([...reversedAfter(earlier.at(-1), operation), ...reversedIn(operation)]),
      };
      whole.set(target, [...earlier, undo]);
    } else if (target !== undefined && kind === "redo") {
      const part = parts.get(target);
      if (part !== undefined) setOrDelete(parts, target, redone(part, operation));
      const left = (whole.get(target) ?? []).flatMap((undo) => redone(undo, operation) ?? []);
      setOrDelete(whole, target, left.length === 0 ? undefined : left);
    }
  }
  // The newest undo comes first, because it is the most likely to have undone an event.
  const ofWork = [...parts.values()].toReversed();
  const wholes = [...whole.values()].flat();
  const inForce = [...parts].filter(([, { only }]) => only === undefined);
  return {
    undos: new Map(inForce.map(([id, { selective }]) => [id, selective])),
    isAny: whole.size + parts.size > 0,
    clean: new Set([...wholes, ...ofWork.filter(isClean)].map(({ own }) => own)),
    mayHold: (seq) =>
      wholes.some(({ target }) => isIn(target, seq)) ||
      ofWork.some(({ selective: { took, met } }) => holdsSeq(took, seq) || holdsSeq(met, seq)),
    mayTouch: (first, last) =>
      wholes.some((one) => meets(one, first, last)) || ofWork.some((one) => touchesAny(one, first, last)),
    holds: (seq, record, path) =>
      (whole.size > 0 && owners.of(record).some((id) => whole.get(id)?.some((undo) => tookWhole(undo, seq, path)))) ||
      ofWork.some((undo) => tookAt(undo, seq, path)),
    by: (seq, record, path) => [
      ...owners.of(record).flatMap((id) => {
        const undos = whole.get(id)?.filter((undo) => tookWhole(undo, seq, path)) ?? [];
        return undos.map(({ own }) => own);
      }),
      ...ofWork.flatMap((undo) => (tookAt(undo, seq, path) ? [undo.own] : [])),
    ],
    isInForceAt: (id, path) => {
      const undo = parts.get(id);
      return undo !== undefined && isInForceAt(undo, path);
    },
    partsAt: (path) => ofWork.flatMap((undo) => partOf(undo, path)),
  };
}

function meets({ target }: WholeUndo, first: number, last: number): boolean {
  return target.fromSeq < last && first <= target.toSeq;
}

function touchesAny({ selective: { took, met, parts } }: PartUndo, first: number, last: number): boolean {
  return [took, met, ...parts.map((one) => one.took)].some((ranges) => holdsAnySeq(ranges, first, last));
}

function partOf(undo: PartUndo, path: WorkspacePath): HunkUndo[] {
  const part = undo.selective.parts.find((one) => one.path === path);
  const { fromSeq, toSeq } = undo.own;
  return part === undefined || !isInForceAt(undo, path) ? [] : [{ fromSeq, toSeq, took: part.took }];
}

/** Returns the undo or redo without its reversals after event `upTo`. */
function reversedUpTo(operation: LoggedOperation, upTo: number): LoggedOperation {
  const { reversed, ...rest } = operation;
  if (reversed === undefined || upTo === Number.POSITIVE_INFINITY) return operation;
  const paths = new Map([...reversed.paths].filter(([, seq]) => seq <= upTo));
  if (paths.size === 0) return rest;
  return { ...rest, reversed: { paths, isAll: reversed.isAll && paths.size === reversed.paths.size } };
}

function reversedIn({ reversed }: LoggedOperation): ReadonlyMap<WorkspacePath, number> {
  return reversed?.paths ?? new Map();
}

/**
 * Returns the paths at which the earlier undo of an operation was reversed only after the given later undo of the same
 * operation.
 */
function reversedAfter(earlier: Undo | undefined, { toSeq }: SeqSpan): Iterable<[WorkspacePath, number]> {
  return [...(earlier?.reversed ?? [])].filter(([, seq]) => seq > toSeq);
}

/**
 * Returns the undo after it was redone; `undefined` if the undo is no longer in force anywhere. The undo stays in force
 * at the paths at which the redo was reversed. If nothing is left of the redo, the undo stays in force at all paths.
 */
function redone<U extends Undo>(undo: U, redo: LoggedOperation): U | undefined {
  const { reversed } = redo;
  if (reversed === undefined) return undefined;
  if (isGone(redo)) return undo;
  return { ...undo, only: new Set([...reversed.paths.keys()].filter((path) => undo.only?.has(path) !== false)) };
}

function setOrDelete<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

function isClean({ selective }: PartUndo): boolean {
  return selective.met.length === 0;
}

function isInForceAt({ isGone, reversed, only }: Undo, path: WorkspacePath): boolean {
  return !isGone && !reversed.has(path) && only?.has(path) !== false;
}

/**
 * True if an undo or redo is in force nowhere, because later undos undid everything that it wrote. Such an undo or redo
 * is also not in force at paths to which it wrote nothing, because they already had the wanted state. False for an undo
 * with a conflict that was settled in favour of the undo, because the undo is still in force at the path of the
 * conflict.
 */
export function isGone({ reversed, selective }: Pick<LoggedOperation, "reversed" | "selective">): boolean {
  return reversed?.isAll === true && (selective === undefined || selective.settled.size === 0);
}

/**
 * Returns the span of the events that the undo of a whole operation undid. The span ends with the operation or with the
 * undo, whichever comes first. An operation can last beyond its undo, for instance an action that ended late. An action
 * within the operation can last beyond the operation; its later events do not belong to the operation.
 */
function undoneSpan({ fromSeq, toSeq }: SeqSpan, undo: SeqSpan): SeqSpan {
  return { fromSeq, toSeq: Math.min(toSeq, undo.fromSeq) };
}

function tookAt(undo: PartUndo, seq: number, path: WorkspacePath): boolean {
  return isTakenIn(undo.selective, seq, path) && isInForceAt(undo, path);
}

/** True if an undo of selected work undid event `seq` at the path. */
export function isTakenIn({ took, left, met, settled }: Selective, seq: number, path: WorkspacePath): boolean {
  return (holdsSeq(took, seq) && !left.includes(path)) || (holdsSeq(met, seq) && settled.has(path));
}

/** True if an undo of selected work undid only some hunks of event `seq` at the path. */
export function isPartOf({ parts }: Selective, seq: number, path: WorkspacePath): boolean {
  return parts.some((one) => one.path === path && holdsSeq(one.took, seq));
}

/** Returns the events that an undo of selected work undid, including those of which the undo undid only some hunks. */
export function eventsTouched({ took, parts }: Selective): SeqRanges {
  if (parts.length === 0) return took;
  return [...took, ...parts.flatMap((one) => one.took)].sort(([a], [b]) => a - b);
}

function tookWhole(undo: WholeUndo, seq: number, path: WorkspacePath): boolean {
  return isIn(undo.target, seq) && !undo.left.includes(path) && isInForceAt(undo, path);
}

/** The span of an operation that the log no longer has. All events that name the operation belong to this span. */
const ALWAYS: SeqSpan = { fromSeq: 0, toSeq: Number.POSITIVE_INFINITY };

/**
 * True if the event lies in the span. For example, the changes that an action made after the end of its transaction lie
 * outside of the transaction's span, and belong to another operation.
 */
function isIn(span: SeqSpan | undefined, seq: number): boolean {
  return span !== undefined && seq > span.fromSeq && seq <= span.toSeq;
}

export interface Covering {
  readonly operations: readonly LoggedOperation[];
  readonly owners: Owners;
  readonly stack: UndoStack;
  readonly taken: UndoneEvents;
}

/** True if the work with this id, or any work around it, is undone. */
export function isUndoneWithAround(id: string, { owners, stack }: Pick<Covering, "owners" | "stack">): boolean {
  return [...owners.around([id])].some((one) => stack.undone.has(one));
}

type Candidate = Pick<LoggedOperation, "id" | "fromSeq" | "toSeq" | "selective">;

/**
 * Returns the ids of the operations, and of the redone undos, of which nothing is left once the events in `own` are
 * undone. Also returns the ids of those `keepers` that are no operations and of which nothing is left. Leaves out such
 * a keeper if work around it is returned.
 */
export async function coveredBy(
  context: Context,
  own: OwnEvents,
  { keepers, ...covering }: Covering & { readonly keepers: readonly Keeper[] },
): Promise<string[]> {
  const { owners, taken } = covering;
  const found = operationsIn(own, covering);
  const more = keepers.filter(({ id }) => !found.some((one) => one.id === id));
  const candidates: Candidate[] = [...found, ...more.map(({ lastSeq: toSeq, ...one }) => ({ ...one, toSeq }))];
  if (candidates.length === 0) return [];
  const left = new Set<string>();
  const fromSeq = leastOf(candidates.map(startOf));
  const toSeq = greatestOf(candidates.map((one) => one.toSeq));
  for await (const { seq, record, path } of fileEvents(context, { fromSeq, toSeq })) {
    if (own.seqs.has(seq) || taken.holds(seq, record, path)) continue;
    const ids = owners.of(record);
    const isOf = ({ id, selective, ...span }: Candidate): boolean =>
      selective === undefined
        ? ids.includes(id) && isIn(span, seq)
        : holdsSeq(selective.took, seq) || isPartOf(selective, seq, path);
    for (const one of candidates) if (isOf(one)) left.add(one.id);
  }
  for (const id of await othersAround(context, keepers, covering)) left.add(id);
  const covered = new Set(candidates.map((one) => one.id).filter((id) => !left.has(id)));
  const isWithinOther = (id: string): boolean => [...owners.around([id])].some((one) => one !== id && covered.has(one));
  for (const { id } of more) if (isWithinOther(id)) covered.delete(id);
  return [...covered];
}

/**
 * Returns the ids of those runs and actions outside of `keepers` that are not undone, and that kept something aside or
 * changed the state of git. Also returns the ids of all work around them.
 */
async function othersAround(
  context: Context,
  keepers: readonly Keeper[],
  covering: Covering,
): Promise<ReadonlySet<string>> {
  const all = keepersOf(await allKeepers(context));
  const own = new Set(keepers.map(({ id }) => id));
  const others = all.filter(({ id }) => !own.has(id) && !isUndoneWithAround(id, covering));
  return covering.owners.around(others.map(({ id }) => id));
}

function operationsIn(own: OwnEvents, { operations, owners, stack }: Covering): readonly Candidate[] {
  const asked = own.operation === undefined ? [] : [own.operation];
  const around = owners.around([...own.ids, ...asked]);
  return operations.filter(({ id, selective, kind }) => {
    if (selective === undefined) return kind !== "undo" && kind !== "redo" && !stack.undone.has(id) && around.has(id);
    const [took, { met }] = [eventsTouched(selective), selective];
    const isTouched = asked.includes(id) || [...own.seqs].some((seq) => holdsSeq(took, seq) || holdsSeq(met, seq));
    return stack.undoable.includes(id) && isTouched;
  });
}

/**
 * Returns the `fromSeq` of an operation. For a redone undo, returns the seq before the first event that the undo
 * undoes.
 */
function startOf({ fromSeq, selective }: Candidate): number {
  if (selective === undefined) return fromSeq;
  const [took = fromSeq + 1, met = fromSeq + 1] = [eventsTouched(selective)[0]?.[0], selective.met[0]?.[0]];
  return Math.min(took, met) - 1;
}

/**
 * Returns how many events of some work are left (not undone). `nothing`: no event is left. `named`: undos have reported
 * every event that is left, as in conflict or as left alone. `some`: other events are left, too.
 */
export async function whatIsLeft(
  context: Context,
  work: Work,
  taken: UndoneEvents,
): Promise<"nothing" | "named" | "some"> {
  const undos = [...taken.undos.values()].filter((one) => one.met.length + one.left.length > 0);
  let isAny = false;
  for await (const { seq, record, path } of fileEvents(context, work)) {
    if (!work.isOwn(record, path, seq) || taken.holds(seq, record, path)) continue;
    const isNamed = ({ met, named, took, left }: Selective): boolean =>
      (holdsSeq(met, seq) && named.has(path)) || (holdsSeq(took, seq) && left.includes(path));
    if (!undos.some(isNamed)) return "some";
    isAny = true;
  }
  return isAny ? "named" : "nothing";
}
