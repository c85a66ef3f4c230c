import type { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import { decodeVersion, type VersionRecord } from "../../core/records/write-back.ts";
import type { Context } from "../log/context.ts";
import { missingContent, refusePruned } from "./pruning.ts";
import { readEvents } from "../log/read-events.ts";
import { shownPath } from "../log/shape.ts";
import { decodeConflict, type IdentifiedConflict } from "../../core/records/conflict-record.ts";
import type { EventRow } from "../../storage/index-store.ts";

export async function openConflicts(context: Context): Promise<IdentifiedConflict[]> {
  return conflictsIn(context, await context.index.openRecords("conflict:"));
}

/** Returns the settled conflicts, in the order in which they were settled. */
export async function settledConflicts(context: Context): Promise<IdentifiedConflict[]> {
  const rows = (await context.index.records("conflict:")).filter(({ open }) => !open);
  return conflictsIn(
    context,
    rows.toSorted((a, b) => a.seq - b.seq),
  );
}

export async function conflictsIn(context: Context, rows: readonly EventRow[]): Promise<IdentifiedConflict[]> {
  const events = await readEvents(context, rows);
  return events.map(({ recordId, record }) => ({
    id: recordId.slice("conflict:".length),
    record: decodeConflict(record),
  }));
}

export interface KeptVersion {
  readonly seq: number;
  readonly ts: string;
  readonly record: VersionRecord;
}

/**
 * Returns all versions, oldest first. A version is a state that a replica wrote back, but that did not become the state
 * of its path.
 */
export async function readVersions(context: Context): Promise<KeptVersion[]> {
  const events = await readEvents(context, await context.index.records("version:"));
  return events.map(({ seq, ts, record }) => ({ seq, ts, record: decodeVersion(record) }));
}

/** Throws `ERASED`, `PRUNED` or `BLOB_MISSING` if the content of a version is not in the store any more. */
export async function mustHaveVersion(context: Context, version: KeptVersion): Promise<void> {
  const { hash } = version.record.entry ?? {};
  if (hash === undefined || (await context.blobs.has([hash])).has(hash)) return;
  throw await missingVersion(context, version, hash);
}

/** Returns the error for a missing content of a version. Throws `PRUNED` if a pruning gave the content up. */
export async function missingVersion(
  context: Context,
  { seq, record: { path, replica } }: KeptVersion,
  hash: Hash,
): Promise<ChronicleError> {
  const what = `the version of ${shownPath(path)} from replica ${replica.slice(0, 8)}`;
  // A pruning that keeps the state right after the version's event also keeps the content.
  await refusePruned(context, what, seq);
  return missingContent(context, { path, hash, what });
}
