import type { Entry } from "../../../core/values/entry.ts";
import { cameFromOrigin, changesOf } from "../../../core/values/file-record.ts";
import type { Hash } from "../../../core/values/hash.ts";
import type { WorkspacePath } from "../../../core/values/path.ts";
import type { Side } from "../../../core/tree/reconcile.ts";
import { replicaRecordId } from "../../../core/records/replica-record.ts";
import type { EventRow } from "../../../storage/index-store.ts";
import { erasedAmong } from "../../../engine/facts/contents-of-history.ts";
import type { Context } from "../../../engine/log/context.ts";
import { isInBase } from "../../../engine/log/read-base.ts";
import { readEvents } from "../../../engine/log/read-events.ts";
import { addAll } from "../../../util/long-lists.ts";

/** A deleted entry that was not created again. */
export interface Gone {
  readonly entry: Entry;
  /** The side on which the entry was deleted first. */
  readonly lostOn: Side;
}

/**
 * The duration, in ms, of the time before a halt that is searched for deletions. A deletion in this time may be the
 * beginning of the large deletion that halted the sync.
 */
const BEFORE_MS = 10_000;
/** The number of events that are read from the index at a time. */
const WINDOW = 2_000;

/**
 * Returns the entries that were deleted from the folder in the last seconds before the sync with this origin halted
 * (stopped until a person decides). The first part of a large deletion is carried out before the deletion is recognised
 * as large. This part is read from the log, because another process may have carried it out. Three kinds of entries are
 * left out: entries that were created again, renamed entries (which still exist), and entries with erased contents
 * (which cannot be restored).
 */
export async function recentlyGone(context: Context, origin: string): Promise<ReadonlyMap<WorkspacePath, Gone>> {
  const halted = await context.index.record(replicaRecordId(origin));
  const gone = new Map<WorkspacePath, Gone>();
  if (halted === undefined) return gone;
  const rows = await rowsBefore(context, halted);
  const came = new Map<WorkspacePath, Came>();
  for (const event of await readEvents(context, rows)) {
    for (const { path, file } of changesOf(event)) {
      const now = file.entry;
      // After an erasure, the path is no longer recorded, but its file stays in the folder.
      if (file.cause === "erase") continue;
      const before = (await context.index.iterationAt(path, event.seq - 1))?.entry;
      const lostOn = cameFromOrigin(file) ? "remote" : "local";
      if (now !== undefined) gone.delete(path);
      else if (before !== undefined) gone.set(path, { entry: before, lostOn });
      if (before === undefined && now?.hash !== undefined) came.set(path, { hash: now.hash, seq: event.seq });
    }
  }
  for (const path of movedPaths(gone, came)) gone.delete(path);
  return withoutErased(context, gone);
}

async function withoutErased(
  context: Context,
  gone: ReadonlyMap<WorkspacePath, Gone>,
): Promise<ReadonlyMap<WorkspacePath, Gone>> {
  const erased = await erasedAmong(
    context,
    [...gone.values()].flatMap(({ entry }) => entry.hash ?? []),
  );
  if (erased.size === 0) return gone;
  return new Map([...gone].filter(([, { entry }]) => entry.hash === undefined || !erased.has(entry.hash)));
}

interface Came {
  readonly hash: Hash;
  readonly seq: number;
}

function movedPaths(gone: ReadonlyMap<WorkspacePath, Gone>, came: ReadonlyMap<WorkspacePath, Came>): WorkspacePath[] {
  const last = new Map<Hash, number>();
  for (const { hash, seq } of came.values()) last.set(hash, Math.max(seq, last.get(hash) ?? 0));
  return [...gone].flatMap(([path, { entry }]) => {
    const renamed = entry.hash === undefined ? undefined : last.get(entry.hash);
    return renamed !== undefined && renamed > (came.get(path)?.seq ?? 0) ? [path] : [];
  });
}

async function rowsBefore({ index }: Context, last: EventRow): Promise<EventRow[]> {
  // With the absolute difference, events from before a jump of the clock do not count as recent, whether the clock was
  // set forward or back.
  const isRecent = (row: EventRow): boolean =>
    !isInBase(row) && Math.abs(Date.parse(last.ts) - Date.parse(row.ts)) <= BEFORE_MS;
  const found: EventRow[] = [];
  for (let to = last.seq; to > 0;) {
    const rows = await index.events({ from: 1, to, limit: WINDOW, descending: true });
    const end = rows.findIndex((row) => !isRecent(row));
    const recent = end === -1 ? rows : rows.slice(0, end);
    addAll(
      found,
      recent.filter(({ recordId }) => recordId.startsWith("file")),
    );
    if (recent.length < rows.length || rows.length < WINDOW) break;
    to = (rows.at(-1)?.seq ?? 1) - 1;
  }
  return found.reverse();
}
