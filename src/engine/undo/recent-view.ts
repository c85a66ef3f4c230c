import { decodeIntent } from "../../core/records/records.ts";
import { GIT } from "../../core/records/git-record.ts";
import type { EventRow, IndexStore, TurnName } from "../../storage/index-store.ts";
import type { Context } from "../log/context.ts";
import { keepActions } from "../facts/actions.ts";
import { Memo } from "../log/memo.ts";
import { readEvents } from "../log/read-events.ts";

/** A part of a history, as if there were no older records, and almost no newer ones. */
export interface RecentView {
  /** A context whose `index.records` returns only the records of the view. */
  readonly context: Context;
  /** The context of the whole history. */
  readonly history: Context;
  /** The seq of the event after which the view begins; 0 if the view begins with the history. */
  readonly after: number;
  /** The last event of the view. The view is complete up to its end if this is the head. */
  readonly upTo: number;
  readonly head: number;
}

/**
 * Returns a view of the history in which only the events after event `after` and up to event `upTo` count. The time to
 * read records grows with the number of events in the view, and not with the length of the history.
 *
 * Only lists use the view, because it is not complete: it lacks work whose last event is older than the view. Work that
 * was finished within the view is in it as a whole, because the last event of a record has all facts of the record.
 *
 * If the view ends before the head, it has these records of newer events: those with an event up to `upTo`, undos and
 * redos with the work that they name, and all records that are no pieces of work, such as prunings and conflicts.
 */
export async function recentView(
  context: Context,
  after: number,
  upTo = Number.POSITIVE_INFINITY,
): Promise<RecentView> {
  const head = (await context.index.head()).seq;
  if (upTo >= head && after <= 0) return { context, history: context, after: 0, upTo: head, head };
  const end = Math.min(head, upTo);
  const rows = await lastRows(context.index, Math.max(0, after), end);
  if (end < head) for (const row of await newerRows(context, end, head)) rows.set(row.recordId, row);
  const known = [...rows.values()].filter(({ op }) => op !== "delete");
  const records = async (prefix: string): Promise<readonly EventRow[]> => {
    const isAll = end < head && !WORK.some((kind) => prefix.startsWith(kind));
    const all = isAll ? (await context.index.records(prefix)).filter(({ seq }) => seq > after) : known;
    const found = all.filter((row) => row.recordId.startsWith(prefix));
    const ids = new Set(found.map((row) => row.recordId));
    const open = (await context.index.openRecords(prefix)).filter((row) => !ids.has(row.recordId));
    return [...open, ...found].sort((a, b) => a.seq - b.seq);
  };
  // The caches of the history must not hold results that come from only a part of the history.
  const inView = { ...context, index: withRecords(context.index, records), memo: new Memo() };
  keepActions(inView);
  return { context: inView, history: context, after: Math.max(0, after), upTo: end, head };
}

function withRecords(index: IndexStore, records: IndexStore["records"]): IndexStore {
  return new Proxy(index, {
    get: (target, key) => {
      if (key === "records") return records;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** The kinds of records that are pieces of work, or belong to one. A history can have very many of them. */
const WORK = ["action:", "session:", "intent:", "transaction:", "snapshot:", GIT] as const;

/** Returns the last row of each record that has an event after `after`, up to `upTo`, except records of files. */
async function lastRows(index: IndexStore, after: number, upTo: number): Promise<Map<string, EventRow>> {
  const last = new Map<string, EventRow>();
  for (const row of await index.events({ from: after + 1, to: upTo }))
    if (!row.recordId.startsWith("file")) last.set(row.recordId, row);
  return last;
}

/** Returns the rows of newer events on which the lines of a view that ends with event `upTo` depend. */
async function newerRows(context: Context, upTo: number, head: number): Promise<EventRow[]> {
  const { index } = context;
  const rows: EventRow[] = [];
  for (const kind of WORK) for (const row of await index.recordsAcross(kind, upTo)) rows.push(row);
  const undos = await index.ticks({ after: upTo, upTo: head, limit: head, kinds: ["undo", "redo"] });
  const undoRows = (await Promise.all(undos.map(({ last }) => index.locate(last)))).filter((row) => row !== undefined);
  for (const row of undoRows) rows.push(row);
  for (const { record } of await readEvents(context, undoRows)) {
    for (const id of idsIn(decodeIntent(record))) for (const row of await rowsOfWork(index, id)) rows.push(row);
  }
  // The changes of git are recorded after the end of the work, and decide whether the work changed anything.
  const git = rows.map(({ recordId }) => index.record(`${GIT}${recordId.slice(recordId.indexOf(":") + 1)}`));
  for (const row of await Promise.all(git)) if (row !== undefined) rows.push(row);
  return rows;
}

function idsIn({ target, takes = [], passes = [] }: ReturnType<typeof decodeIntent>): ReadonlySet<string> {
  return new Set([...(target === undefined ? [] : [target]), ...takes, ...passes]);
}

/** Returns the rows of the work with an id, of whatever kind it is. */
async function rowsOfWork(index: IndexStore, id: string): Promise<EventRow[]> {
  const found = await Promise.all(
    ["intent:", "session:", "action:", "transaction:"].map((kind) => index.record(kind + id)),
  );
  return found.filter((row) => row !== undefined);
}

/** Returns the keys (see `keyOfTurn`) of those turns that go on after the end of the view. */
export async function turnsGoingOn(
  { context, upTo, head }: RecentView,
  turns: readonly TurnName[],
): Promise<ReadonlySet<string>> {
  if (upTo >= head) return new Set();
  return new Set((await context.index.turnsAfter(upTo, turns)).map(keyOfTurn));
}

export function keyOfTurn({ session, turn }: TurnName): string {
  return `${session}\0${turn}`;
}
