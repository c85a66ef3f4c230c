import { ChronicleError } from "../../core/values/errors.ts";
import type { WorkspaceApi } from "../workspace-api.ts";
import type { Page } from "./reply-shapes.ts";

interface Paging {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** The default page size. */
export const PAGE = 100;

export const MAX_PAGE = 1_000;

/**
 * Returns the page of a whole list that begins after the cursor's item. `key` returns an item's cursor. Throws `USAGE`
 * for a cursor of no item.
 */
export function pageOf<Item>(all: readonly Item[], paging: Paging, key: (item: Item) => string): Page<Item> {
  const { limit = PAGE, cursor } = paging;
  const begin = cursor === undefined ? 0 : all.findIndex((item) => key(item) === cursor) + 1;
  if (cursor !== undefined && begin === 0) throw strayCursor();
  const items = all.slice(begin, begin + limit);
  const last = items.at(-1);
  return { items, next: begin + limit < all.length && last !== undefined ? key(last) : null };
}

/** Makes a page from `limit` + 1 fetched items; the extra item shows that there are more. */
export function pageWithMore<Item>(found: readonly Item[], limit: number, key: (item: Item) => string): Page<Item> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, next: found.length > limit && last !== undefined ? key(last) : null };
}

/** Returns a cursor as a number. Throws `USAGE`. */
export function numberOf(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw strayCursor();
  return Number(cursor);
}

function strayCursor(): ChronicleError {
  return new ChronicleError("USAGE", "this cursor leads nowhere (any more)", {
    hint: "begin again without a cursor",
    data: { field: "query.cursor" },
  });
}

/**
 * Returns the seq after which a stream of events begins; without `after`, the present head. Called before anything is
 * streamed, so that a request for missing events gets an error. Throws `PRUNED` for events that a compaction has
 * dropped, `NOT_FOUND` for events that are not recorded yet; `data.after` is a seq after which the caller can continue.
 */
export async function eventStart(on: WorkspaceApi, after: number | undefined): Promise<number> {
  const [last] = await on.log({ reverse: true, limit: 1 });
  const end = last?.seq ?? 0;
  if (after === undefined || after === end) return end;
  if (after > end) {
    throw new ChronicleError("NOT_FOUND", `there is no event ${after} yet: the last one is ${end}`, {
      hint: `go on after event ${end}`,
      data: { seq: after, after: end },
    });
  }
  const [next] = await on.log({ from: after + 1, limit: 1 });
  if (next === undefined || next.seq === after + 1) return after;
  throw new ChronicleError(
    "PRUNED",
    `event ${after + 1} is in no log any more: the history begins at event ${next.seq}`,
    {
      hint: `go on after event ${next.seq - 1}; what was recorded before is in the list of files`,
      data: { seq: after + 1, after: next.seq - 1 },
    },
  );
}
