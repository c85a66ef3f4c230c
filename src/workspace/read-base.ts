import { decodeBase, type BaseEntry, type BaseRecord } from "../core/base.ts";
import { ChronicleError } from "../core/errors.ts";
import type { LogEvent } from "../core/event.ts";
import type { Hash } from "../core/hash.ts";
import type { BlobStore } from "../storage/blob-store.ts";
import type { EventRow } from "../storage/index-store.ts";

/** All rows of a base. */
export interface BaseRows {
  readonly entries: readonly BaseEntry[];
  readonly records: readonly BaseRecord[];
}

/** Reads a base. Throws `BLOB_MISSING`; `where` says who needs it. */
export async function readBase(blobs: BlobStore, base: Hash, where: string): Promise<BaseRows> {
  const reader = await blobs.open(base);
  if (reader === undefined) {
    throw new ChronicleError("BLOB_MISSING", `the base ${base} ${where} is not in the store`, {
      hint: "run `chronicle verify` to see what else is missing",
      data: { hash: base },
    });
  }
  const entries: BaseEntry[] = [];
  const records: BaseRecord[] = [];
  for await (const batch of decodeBase(reader.pieces())) {
    for (const entry of batch.entries ?? []) entries.push(entry);
    for (const record of batch.records ?? []) records.push(record);
  }
  return { entries, records };
}

/** The offset of events that are in no log any more: their records stand in the base that the row's hash names. */
const IN_BASE = -1;

/** The row of a record that only a base still knows. */
export function baseRecordRow(base: Hash, { seq, ts, op, recordId }: BaseRecord): EventRow {
  return { seq, ts, op, recordId, hash: base, offset: IN_BASE, length: 0 };
}

/** Is the event itself compacted away, so that only its record is left? */
export function isInBase(row: EventRow): boolean {
  return row.offset === IN_BASE;
}

interface CachedRecords {
  readonly base: Hash;
  readonly records: ReadonlyMap<number, BaseRecord>;
}

// The records of the base read last, by store: a history has one base in use.
const cache = new WeakMap<BlobStore, CachedRecords>();

/** What is left of an event whose record stands in a base: no hash of its own, no link. */
export async function readBaseRecord(blobs: BlobStore, row: EventRow): Promise<LogEvent> {
  let known = cache.get(blobs);
  if (known?.base !== row.hash) {
    const { records } = await readBase(blobs, row.hash, `that holds ${row.recordId}`);
    known = { base: row.hash, records: new Map(records.map((one) => [one.seq, one])) };
    cache.set(blobs, known);
  }
  const found = known.records.get(row.seq);
  if (found?.recordId !== row.recordId) {
    throw new ChronicleError("INTEGRITY_VIOLATION", `the base ${row.hash} does not hold ${row.recordId}`);
  }
  const { seq, ts, op, recordId, record } = found;
  return { seq, ts, op, recordId, record, prevHash: "", hash: row.hash, recursionDepth: 0 };
}
