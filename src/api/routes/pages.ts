import { ChronicleError } from "../../core/values/errors.ts";
import type { WorkspaceApi } from "../workspace-api.ts";
import type { Page } from "./reply-shapes.ts";

interface Paging {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export const PAGE = 100;

export const MAX_PAGE = 1_000;

/**
 * Returns the page of `all` after the item with the cursor or, without a cursor, the first page. `key` returns the
 * cursor of an item. Throws `USAGE` if no item has the cursor.
 */
export function pageOf<Item>(all: readonly Item[], paging: Paging, key: (item: Item) => string): Page<Item> {
  const { limit = PAGE, cursor } = paging;
  const begin = cursor === undefined ? 0 : all.findIndex((item) => key(item) === cursor) + 1;
  if (cursor !== undefined && begin === 0) throw strayCursor();
  const items = all.slice(begin, begin + limit);
  const last = items.at(-1);
  return { items, next: begin + limit < all.length && last !== undefined ? key(last) : null };
}

/** Makes a page from up to `limit` + 1 fetched items. An item beyond `limit` only shows that there is a next page. */
export function pageWithMore<Item>(found: readonly Item[], limit: number, key: (item: Item) => string): Page<Item> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, next: found.length > limit && last !== undefined ? key(last) : null };
}

/** Throws `USAGE` if the cursor is no whole number. */
export function numberOf(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw strayCursor();
  return Number(cursor);
}

function strayCursor(): ChronicleError {
  return new ChronicleError("USAGE", "this cursor is not valid, or no longer valid", {
    hint: "begin again without a cursor",
    data: { field: "query.cursor" },
  });
}

/**
 * Returns the seq after which a stream of events begins: `after` or, if it is absent, the seq of the last event. Must
 * be called before the stream begins, because no error can be sent afterwards. Throws `PRUNED` if a compaction has
 * dropped the event after `after`, and `NOT_FOUND` if event `after` is not recorded yet. The caller can continue after
 * the seq in `data.after` of the error.
 */
export async function eventStart(on: WorkspaceApi, after: number | undefined): Promise<number> {
  const [last] = await on.log({ reverse: true, limit: 1 });
  const end = last?.seq ?? 0;
  if (after === undefined || after === end) return end;
  if (after > end) {
    throw new ChronicleError("NOT_FOUND", `there is no event ${after} yet: the last one is ${end}`, {
      hint: `continue after event ${end}`,
      data: { seq: after, after: end },
    });
  }
  const [next] = await on.log({ from: after + 1, limit: 1 });
  if (next === undefined || next.seq === after + 1) return after;
  throw new ChronicleError(
    "PRUNED",
    `event ${after + 1} is no longer in the log: the history begins at event ${next.seq}`,
    {
      hint: `continue after event ${next.seq - 1}; the list of files has the state at that event`,
      data: { seq: after + 1, after: next.seq - 1 },
    },
  );
}
