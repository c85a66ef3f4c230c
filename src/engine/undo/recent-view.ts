import type { EventRow, IndexStore } from "../../storage/index-store.ts";
import type { Context } from "../log/context.ts";
import { keepActions } from "../facts/actions.ts";
import { Memo } from "../log/memo.ts";

/** The newest events of a history, as if older records did not exist. */
export interface RecentView {
  /** A context whose `index.records` returns only unfinished records, and records with an event in the view. */
  readonly context: Context;
  /** The context of the whole history. */
  readonly history: Context;
  /** The seq of the event after which the view begins; 0 if the view is the whole history. */
  readonly after: number;
  readonly head: number;
}

/**
 * Returns a view of the history in which only the events after event `after` count. The time to read records grows with
 * the number of events in the view, and not with the length of the history.
 *
 * Only lists use the view, because it is not complete: it lacks work whose last event is older than the view. Work that
 * was finished within the view is in it as a whole, because the last event of a record has all facts of the record.
 */
export async function recentView(context: Context, after: number): Promise<RecentView> {
  const head = (await context.index.head()).seq;
  if (after <= 0) return { context, history: context, after: 0, head };
  const rows = await lastRows(context.index, after, head);
  const records = async (prefix: string): Promise<readonly EventRow[]> => {
    const found = rows.filter((row) => row.recordId.startsWith(prefix) && row.op !== "delete");
    const known = new Set(found.map((row) => row.recordId));
    const open = (await context.index.openRecords(prefix)).filter((row) => !known.has(row.recordId));
    return [...open, ...found].sort((a, b) => a.seq - b.seq);
  };
  const index = new Proxy(context.index, {
    get: (target, key) => {
      if (key === "records") return records;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  // The caches of the history must not hold results that come from only a part of the history.
  const inView = { ...context, index, memo: new Memo() };
  keepActions(inView);
  return { context: inView, history: context, after, head };
}

/** Returns the last row of each record that has an event after event `after`, except records of files. */
async function lastRows(index: IndexStore, after: number, head: number): Promise<EventRow[]> {
  const last = new Map<string, EventRow>();
  for (const row of await index.events({ from: after + 1, to: head }))
    if (!row.recordId.startsWith("file")) last.set(row.recordId, row);
  return [...last.values()];
}
