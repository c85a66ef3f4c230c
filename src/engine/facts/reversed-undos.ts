import { pathOfRecordId } from "../../core/values/file-record.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { Context } from "../log/context.ts";
import type { LoggedOperation, Reversed } from "./logged-operation.ts";
import type { SeqSpan } from "./own-changes.ts";
import { fileEvents } from "./own-work.ts";
import { ownersIn, type Owners } from "./owners.ts";
import { isGone, isTakenIn, undoneBy, type UndoneEvents } from "./undone-events.ts";

/**
 * Finds undos and redos whose own changes a later undo has undone. The later undo is an undo of everything since a
 * moment, an undo of one path, or the rollback of the transaction around the earlier undo or redo. At the undone paths,
 * the earlier undo or redo has no effect until the later undo is redone. A redo also has no effect at a path with a
 * conflict, until the conflict is settled in favour of the redo or by a merge.
 */

/**
 * Returns the given operations, in the same order, which must be that of the log. Sets `reversed` of each undo and redo
 * that was itself undone later, at least in part, and of each redo with `unmerged`.
 */
export async function reversedTold(
  context: Context,
  operations: readonly LoggedOperation[],
): Promise<LoggedOperation[]> {
  const told = [...operations];
  const later = new LaterUndos();
  const spans = new Map<string, SeqSpan>(operations.map((one) => [one.id, one]));
  for (const [i, one] of [...operations.entries()].toReversed()) {
    if (one.kind !== "undo" && one.kind !== "redo") continue;
    const reversed = await reversedOf(context, one, { later, redone: spans.get(one.target ?? "") });
    const now = reversed.paths.size === 0 ? one : { ...one, reversed };
    told[i] = now;
    later.add(now);
  }
  return told;
}

interface Around {
  readonly later: LaterUndos;
  /** The span of the operation that the undo or redo names; `undefined` if that operation is not known. */
  readonly redone: SeqSpan | undefined;
}

async function reversedOf(context: Context, operation: LoggedOperation, { later, redone }: Around): Promise<Reversed> {
  const { unmerged, toSeq } = operation;
  const paths = new Map<WorkspacePath, number>();
  const undos = later.over(operation);
  if (undos.length === 0 && unmerged === undefined) return { paths, isAll: false };
  const written = await writtenIn(context, operation);
  // The redo is in force at a path that merged in part, because the redo has brought back this part.
  const inPart = new Set(written.map(({ path }) => path));
  for (const path of unmerged ?? []) if (!inPart.has(path)) paths.set(path, toSeq);
  let isAll = undos.length + paths.size > 0;
  for (const { seq, path } of written) {
    const undo = undos.find((one) => later.holdsAt(one, seq, path));
    if (undo === undefined) isAll = false;
    else paths.set(path, undo.toSeq);
  }
  // A redo that met a conflict may have written nothing at other paths of the redone operation. Such a path already had
  // the redone state, or got that state when the conflict was settled. The redo is in force at such a path, too.
  if (isAll && unmerged !== undefined && redone !== undefined)
    isAll = (await writtenIn(context, redone)).every(({ path }) => paths.has(path));
  return { paths, isAll };
}

/**
 * Returns the events of files in the span. If the span is that of an undo or redo, all of these events belong to that
 * undo or redo.
 */
async function writtenIn(context: Context, { fromSeq, toSeq }: SeqSpan) {
  const rows = await context.index.events({ from: fromSeq + 1, to: toSeq });
  return rows.flatMap(({ seq, recordId }) => {
    const path = recordId.startsWith("file") ? pathOfRecordId(recordId) : undefined;
    return path === undefined ? [] : [{ seq, path }];
  });
}

/** The undos and redos after an operation, which are added from the newest to the oldest. */
class LaterUndos {
  readonly #undos: LoggedOperation[] = [];
  /** Maps the id of an operation, or of an undo of selected work, to its redos. */
  readonly #redos = new Map<string, LoggedOperation[]>();

  add(operation: LoggedOperation): void {
    const { kind, target = "" } = operation;
    if (kind === "undo") this.#undos.push(operation);
    else this.#redos.set(target, [...(this.#redos.get(target) ?? []), operation]);
  }

  /** Returns the undos that may have undone events of the operation, the newest first. */
  over({ id, fromSeq, toSeq }: LoggedOperation): readonly LoggedOperation[] {
    return this.#undos.filter(({ selective, target }) => {
      if (selective === undefined) return target === id;
      return [selective.took, selective.met].some((ranges) =>
        ranges.some(([first, last]) => last > fromSeq && first <= toSeq),
      );
    });
  }

  /** True if the undo undid event `seq` of the path, and is in force at that path. */
  holdsAt(undo: LoggedOperation, seq: number, path: WorkspacePath): boolean {
    const { id, selective, target = "", left = [], toSeq, reversed } = undo;
    if (selective === undefined ? left.includes(path) : !isTakenIn(selective, seq, path)) return false;
    if (isGone(undo) || reversed?.paths.has(path) === true) return false;
    const redos = this.#redos.get(selective === undefined ? target : id) ?? [];
    return redos.every((redo) => redo.toSeq < toSeq || isReversedAt(redo, path));
  }
}

function isReversedAt(redo: LoggedOperation, path: WorkspacePath): boolean {
  return isGone(redo) || redo.reversed?.paths.has(path) === true;
}

/**
 * Returns the given operations. Sets `isUndone` of each operation whose undos and redos do not show whether the
 * operation is undone. In the following cases, the events of the operation decide:
 *
 * - An undo or redo of the operation was reversed.
 * - The operation continued after it was undone.
 * - The operation was undone in several parts, and one of these undos was redone.
 * - A conflict of an undo of the operation was settled in favour of the undo, or by a merge.
 */
export async function undoneTold(context: Context, operations: readonly LoggedOperation[]): Promise<LoggedOperation[]> {
  const reversed = operations.filter((one) => one.reversed !== undefined);
  const targets = new Set(reversed.flatMap(({ target }) => target ?? []));
  const more = [...undoneMeanwhile(operations), ...redoneInPart(operations), ...undoneBySettling(operations)];
  if (reversed.length + more.length === 0) return [...operations];
  const owners = await ownersIn(context);
  const taken = undoneBy(operations, owners);
  const first = reversed[0]?.toSeq ?? Infinity;
  // Also included are undos of selected work after the first reversed undo or redo, because they may have reversed
  // earlier undos of the same operations. Undos of selected work that a reversed redo redid are included, too.
  const about = [
    ...reversed,
    ...operations.filter(({ id, selective, toSeq }) => selective !== undefined && (toSeq > first || targets.has(id))),
  ];
  const ids = owners.around([...more, ...about.flatMap(idsUndoneBy)]);
  const told: LoggedOperation[] = [];
  for (const one of operations) {
    const isAsked = ids.has(one.id) && one.kind !== "undo" && one.kind !== "redo";
    told.push(isAsked ? { ...one, isUndone: await isAllTaken(context, one, { owners, taken }) } : one);
  }
  return told;
}

/** Returns the ids of the operations that ended only after they had been undone. */
function undoneMeanwhile(operations: readonly LoggedOperation[]): readonly string[] {
  const ends = new Map(operations.map(({ id, toSeq }) => [id, toSeq]));
  return operations
    .filter(({ kind }) => kind === "undo")
    .flatMap((undo) => idsUndoneBy(undo).filter((id) => (ends.get(id) ?? 0) > undo.toSeq));
}

/**
 * Returns the ids in `takes` of each undo with a conflict that was settled in favour of the undo, or by a merge. Such
 * an undo may also have left some paths of these operations alone.
 */
function undoneBySettling(operations: readonly LoggedOperation[]): readonly string[] {
  return operations.flatMap(({ selective }) =>
    selective === undefined || selective.settled.size === 0 ? [] : selective.takes,
  );
}

/**
 * Returns the ids of operations that two undos have undone. The first is an undo of selected work that undid a part of
 * the operation, and that was redone. The second undid the rest of the operation, or the same part.
 */
function redoneInPart(operations: readonly LoggedOperation[]): readonly string[] {
  const redone = new Set(operations.flatMap(({ kind, target }) => (kind === "redo" ? (target ?? []) : [])));
  const parts = operations.filter(({ id, selective }) => selective !== undefined && redone.has(id));
  if (parts.length === 0) return [];
  const spans = new Map<string, SeqSpan>(operations.map((one) => [one.id, one]));
  const undos = operations.filter(({ kind }) => kind === "undo");
  return parts.flatMap((part) => {
    const others = undos.filter((one) => one !== part).flatMap(idsUndoneBy);
    return others.filter((id) => {
      const span = spans.get(id);
      return (
        span !== undefined && part.selective?.took.some(([first, last]) => last > span.fromSeq && first <= span.toSeq)
      );
    });
  });
}

function idsUndoneBy({ target, selective }: LoggedOperation): readonly string[] {
  return [...(target === undefined ? [] : [target]), ...(selective?.takes ?? []), ...(selective?.passes ?? [])];
}

/**
 * True if undos in force undid all events of an operation. Events of folders do not count, because an undo leaves a
 * folder into which others have put files.
 */
async function isAllTaken(
  context: Context,
  operation: LoggedOperation,
  { owners, taken }: { readonly owners: Owners; readonly taken: UndoneEvents },
): Promise<boolean> {
  if (!(await writtenIn(context, operation)).some(({ seq }) => taken.mayHold(seq))) return false;
  let isAny = false;
  for await (const { seq, record, path } of fileEvents(context, operation)) {
    if (!owners.of(record).includes(operation.id)) continue;
    if (taken.holds(seq, record, path)) isAny = true;
    else if (record.entry?.kind !== "dir") return false;
  }
  return isAny;
}
