import { decodeConflict, type IdentifiedConflict } from "../../core/records/conflict-record.ts";
import type { EventRow } from "../../storage/index-store.ts";
import type { Context } from "../log/context.ts";
import { readEvents } from "../log/read-events.ts";

/** Returns the conflicts that are not settled. */
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

/** Returns the conflicts of some rows of the index. */
export async function conflictsIn(context: Context, rows: readonly EventRow[]): Promise<IdentifiedConflict[]> {
  const events = await readEvents(context, rows);
  return events.map(({ recordId, record }) => ({
    id: recordId.slice("conflict:".length),
    record: decodeConflict(record),
  }));
}
