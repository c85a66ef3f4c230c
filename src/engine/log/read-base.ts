import { decodeBase, decodeRecordRows, recordsOffset, type BaseEntry, type BaseRecord } from "../../core/log/base.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { LogEvent } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import { leavesOpen } from "../../core/records/records.ts";
import type { BlobReader, BlobStore } from "../../storage/blob-store.ts";
import type { EventRow } from "../../storage/index-store.ts";

export interface BaseRows {
  readonly entries: readonly BaseEntry[];
  readonly records: readonly BaseRecord[];
  /** The byte at which the record rows begin. */
  readonly recordsAt: number;
}

/**
 * Reads a base. Throws `BLOB_MISSING` if the base is not in the store. `where` is the part of the error message that
 * says what needs the base.
 */
export async function readBase(blobs: BlobStore, base: Hash, where: string): Promise<BaseRows> {
  const reader = await openBase(blobs, base, where);
  const entries: BaseEntry[] = [];
  const records: BaseRecord[] = [];
  for await (const batch of decodeBase(reader.pieces())) {
    for (const entry of batch.entries ?? []) entries.push(entry);
    for (const record of batch.records ?? []) records.push(record);
  }
  return { entries, records, recordsAt: recordsOffset(reader.size, records) };
}

async function openBase(blobs: BlobStore, base: Hash, where: string): Promise<BlobReader> {
  const reader = await blobs.open(base);
  if (reader !== undefined) return reader;
  throw new ChronicleError("BLOB_MISSING", `the base ${base} ${where} is not in the store`, {
    hint: "run `chronicle verify` to see what else is missing",
    data: { hash: base },
  });
}

/**
 * Returns the row of an event of which only a record in a base is left. The `hash` of the row is the hash of the base.
 * The `offset` is negative: the record rows of the base begin at byte `-offset`.
 */
export function baseRecordRow(base: Hash, recordsAt: number, { seq, ts, op, recordId, record }: BaseRecord): EventRow {
  const open = leavesOpen(recordId, record);
  return { seq, ts, op, recordId, hash: base, offset: -recordsAt, length: 0, open };
}

/** True if the event was compacted away, so that only its record in a base is left. */
export function isInBase(row: EventRow): boolean {
  return row.offset < 0;
}

interface CachedRecords {
  readonly base: Hash;
  readonly records: ReadonlyMap<number, BaseRecord>;
}

// Maps each store to the records of the base that was read last. One base per store is enough, because a history uses
// only one base.
const cache = new WeakMap<BlobStore, CachedRecords>();

/**
 * Returns what is left of an event whose record is in a base. Such an event has lost its own hash, and the hash of the
 * event before it.
 */
export async function readBaseRecord(blobs: BlobStore, row: EventRow): Promise<LogEvent> {
  let known = cache.get(blobs);
  if (known?.base !== row.hash) {
    known = { base: row.hash, records: await recordsFrom(blobs, row) };
    cache.set(blobs, known);
  }
  const found = known.records.get(row.seq);
  if (found?.recordId !== row.recordId) {
    throw new ChronicleError("INTEGRITY_VIOLATION", `the base ${row.hash} does not hold ${row.recordId}`);
  }
  const { seq, ts, op, recordId, record, recursionDepth = 0 } = found;
  return { seq, ts, op, recordId, record, prevHash: "", hash: row.hash, recursionDepth };
}

/**
 * Reads the records at the end of a base, and returns them by seq. Does not decode the entries before the records,
 * because there can be hundreds of thousands of entries.
 */
async function recordsFrom(blobs: BlobStore, row: EventRow): Promise<ReadonlyMap<number, BaseRecord>> {
  const reader = await openBase(blobs, row.hash, `that holds ${row.recordId}`);
  const rows: Buffer[] = [];
  let at = 0;
  for await (const piece of reader.pieces()) {
    const skipped = Math.min(Math.max(-row.offset - at, 0), piece.length);
    at += piece.length;
    if (skipped < piece.length) rows.push(Buffer.from(piece.subarray(skipped)));
  }
  return new Map(decodeRecordRows(Buffer.concat(rows)).map((one) => [one.seq, one]));
}
