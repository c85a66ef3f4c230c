import type { Entry } from "../../../core/values/entry.ts";
import { cameFromOrigin, decodeFile, pathOfRecordId } from "../../../core/values/file-record.ts";
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

/** Something that was deleted, and is not there again. */
export interface Gone {
  /** As it was last. */
  readonly entry: Entry;
  /** Where it was deleted first: in the folder, or at the origin. */
  readonly lostOn: Side;
}

/** What went in so many milliseconds before a sync was halted may be the beginning of what it was halted for. */
const BEFORE_MS = 10_000;
/** Events that are looked at together. */
const WINDOW = 2_000;

/**
 * What went from the folder in the last seconds before a sync with this origin was halted, and is not there: a large deletion
 * was carried on in part before it was known as one. Read from the log, since the process may be another one by now. What only
 * has another name is not gone, and what was erased nobody gets back: neither are among them.
 */
export async function recentlyGone(context: Context, origin: string): Promise<ReadonlyMap<WorkspacePath, Gone>> {
  const halted = await context.index.record(replicaRecordId(origin));
  const gone = new Map<WorkspacePath, Gone>();
  if (halted === undefined) return gone;
  const rows = await rowsBefore(context, halted);
  const came = new Map<WorkspacePath, Came>();
  for (const event of await readEvents(context, rows)) {
    const path = pathOfRecordId(event.recordId);
    if (path === undefined) continue;
    const file = decodeFile(path, event.record);
    const now = file.entry;
    // It is recorded no more, and its file has stayed.
    if (file.cause === "erase") continue;
    const before = (await context.index.iterationAt(path, event.seq - 1))?.entry;
    if (now !== undefined) gone.delete(path);
    else if (before !== undefined) gone.set(path, { entry: before, lostOn: cameFromOrigin(file) ? "remote" : "local" });
    if (before === undefined && now?.hash !== undefined) came.set(path, { hash: now.hash, seq: event.seq });
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

/** Where something came to be. */
interface Came {
  readonly hash: Hash;
  readonly seq: number;
}

/** Those whose content has got another name since they were there. */
function movedPaths(gone: ReadonlyMap<WorkspacePath, Gone>, came: ReadonlyMap<WorkspacePath, Came>): WorkspacePath[] {
  const last = new Map<Hash, number>();
  for (const { hash, seq } of came.values()) last.set(hash, Math.max(seq, last.get(hash) ?? 0));
  return [...gone].flatMap(([path, { entry }]) => {
    const renamed = entry.hash === undefined ? undefined : last.get(entry.hash);
    return renamed !== undefined && renamed > (came.get(path)?.seq ?? 0) ? [path] : [];
  });
}

/** The events of files in the seconds before another one, in order. */
async function rowsBefore({ index }: Context, last: EventRow): Promise<EventRow[]> {
  // An event behind a jump of the clock is none of the last seconds, whichever way it jumped.
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
