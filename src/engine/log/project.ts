import { changesOf } from "../../core/values/file-record.ts";
import { leavesOpen } from "../../core/records/records.ts";
import { markOf } from "../../core/log/commit-mark.ts";
import { LogTree } from "../../core/log/log-tree.ts";
import type { BaseEntry } from "../../core/log/base.ts";
import type { LogEvent } from "../../core/values/event.ts";
import { isHash, type Hash } from "../../core/values/hash.ts";
import type { HistoryAnchor } from "../../core/log/history-anchor.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { remoteWorkIn } from "../../core/records/remote-work.ts";
import { type Tick, tickOf, type TickSource } from "../../core/records/tick.ts";
import { decodeSentinel } from "../../core/records/sentinel.ts";
import type {
  CommitRow,
  EventRow,
  StoredTree,
  IndexBatch,
  IndexHead,
  IterationRow,
  IndexStore,
} from "../../storage/index-store.ts";
import type { BlobStore } from "../../storage/blob-store.ts";
import { addAll } from "../../util/long-lists.ts";
import { baseRecordRow, readBase } from "./read-base.ts";

/** Projects events into rows of the index. The index depends on the log alone. */

/**
 * An event with the place of its line in the log. `offset` and `length` are in bytes. `length` does not count the
 * newline.
 */
export interface PlacedEvent {
  readonly event: LogEvent;
  readonly offset: number;
  readonly length: number;
}

export function eventRow({ event, offset, length }: PlacedEvent): EventRow {
  const { seq, ts, op, recordId, hash, record } = event;
  return { seq, ts, op, recordId, hash, offset, length, open: leavesOpen(recordId, record) };
}

export function iterationsOf(event: LogEvent): readonly IterationRow[] {
  return changesOf(event).map(({ path, file: { iteration, entry } }) => ({ path, seq: event.seq, iteration, entry }));
}

/**
 * Returns the hash of the base that the event of a snapshot or a compaction names; `undefined` if the event names none.
 */
export function baseOf(event: LogEvent): Hash | undefined {
  if (!event.recordId.startsWith("snapshot:") && event.op !== "compact") return undefined;
  const base = event.record["base"];
  return typeof base === "string" && isHash(base) ? base : undefined;
}

function advance(head: IndexHead, placed: readonly PlacedEvent[]): IndexHead {
  const last = placed.at(-1);
  if (last === undefined) return head;
  const tree = new LogTree(head.frontier, head.seq);
  for (const { event } of placed) tree.append(event.hash);
  return {
    seq: last.event.seq,
    hash: last.event.hash,
    offset: last.offset + last.length + 1,
    frontier: tree.frontier(),
  };
}

/** Maps the hash of each base that is in memory already to its entries. */
export type BasesAtHand = ReadonlyMap<Hash, Iterable<BaseEntry>>;

export interface ProjectionTarget {
  readonly index: IndexStore;
  readonly blobs: BlobStore;
}

export interface ProjectOptions {
  /** The bases that need not be read from the store. */
  readonly atHand?: BasesAtHand | undefined;
  /** The folder hashes as of the last event, if they are known. */
  readonly tree?: StoredTree | undefined;
}

/**
 * Projects events into the index, with the bases that they name, and returns the new head. The base of a compaction is
 * used only if the log begins with this compaction. In any other log, the base repeats events that the index has
 * already.
 */
export async function project(
  { index, blobs }: ProjectionTarget,
  placed: readonly PlacedEvent[],
  { atHand, tree }: ProjectOptions = {},
): Promise<IndexHead> {
  const before = await index.head();
  const start = sentinelAtStart(before, placed);
  const head = advance(start === undefined ? before : headOfSentinel(start), placed);
  const records: EventRow[] = [];
  const ticks: Tick[] = [];
  const sources: Iterable<IterationRow>[] = [];
  let rows: IterationRow[] = [];
  const trees: (readonly [number, Iterable<BaseEntry>])[] = [];
  for (const { event } of placed) {
    for (const row of iterationsOf(event)) rows.push(row);
    const base = baseOf(event);
    if (base === undefined || (event.op === "compact" && event !== start)) continue;
    let entries = event === start ? undefined : atHand?.get(base);
    if (entries === undefined) {
      const read = await readBase(blobs, base, `that event ${event.seq} starts on`);
      entries = read.entries;
      for (const record of read.records) records.push(baseRecordRow(base, read.recordsAt, record));
      addAll(ticks, ticksIn(read.records));
    }
    sources.push(rows, rowsOfBase(entries));
    rows = [];
    trees.push([event.seq, entries]);
  }
  const iterations = sources.length === 0 ? rows : { [Symbol.iterator]: () => flatten([...sources, rows]) };
  const events = [...records, ...placed.map(eventRow)];
  addAll(ticks, ticksIn(placed.map(({ event }) => event)));
  const remoteWork = remoteWorkIn(placed.map(({ event }) => event));
  const batch: IndexBatch = { head, events, iterations, remoteWork, ticks, commits: commitsOf(placed) };
  await index.apply(tree === undefined ? batch : { ...batch, tree });
  for (const [seq, entries] of trees) await putBaseTrees(index, seq, entries);
  return head;
}

/** Fills an empty index with the state of the anchor after which the log begins, and returns the head. */
export async function projectAnchor({ index, blobs }: ProjectionTarget, anchor: HistoryAnchor): Promise<IndexHead> {
  const { seq, hash, base, frontier } = anchor;
  const { entries, records, recordsAt } = await readBase(blobs, base, `that the history starts on after event ${seq}`);
  const head = { seq, hash, offset: 0, frontier };
  const events = records.map((record) => baseRecordRow(base, recordsAt, record));
  await index.apply({ head, events, iterations: rowsOfBase(entries), ticks: ticksIn(records) });
  await putBaseTrees(index, seq, entries);
  return head;
}

function ticksIn(sources: readonly TickSource[]): Tick[] {
  return sources.flatMap((one) => tickOf(one) ?? []);
}

function commitsOf(placed: readonly PlacedEvent[]): CommitRow[] {
  return placed.flatMap(({ event }) => {
    const mark = markOf(event);
    return mark === undefined ? [] : { first: mark.first, last: event.seq, isRooted: mark.root !== undefined };
  });
}

function sentinelAtStart(head: IndexHead, placed: readonly PlacedEvent[]): LogEvent | undefined {
  const event = placed[0]?.event;
  return head.seq === 0 && event?.op === "compact" ? event : undefined;
}

function headOfSentinel(event: LogEvent): IndexHead {
  const { size, head, frontier } = decodeSentinel(event);
  return { seq: size, hash: head, offset: 0, frontier };
}

/**
 * Returns the rows of a base. Each row is built only when it is read, because a base can have hundreds of thousands of
 * rows.
 */
function rowsOfBase(entries: Iterable<BaseEntry>): Iterable<IterationRow> {
  return {
    *[Symbol.iterator]() {
      for (const { path, seq, iteration, entry } of entries) yield { path, seq, iteration, entry };
    },
  };
}

function* flatten<T>(sources: Iterable<Iterable<T>>): Generator<T> {
  for (const source of sources) yield* source;
}

async function putBaseTrees(index: IndexStore, seq: number, entries: Iterable<BaseEntry>): Promise<void> {
  const hashes: (readonly [WorkspacePath, Hash])[] = [];
  for (const { path, folderHash } of entries) if (folderHash !== undefined) hashes.push([path, folderHash]);
  if (hashes.length > 0) await index.putTreeHashes(seq, { hashes, after: 0 });
}
