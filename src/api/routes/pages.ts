import { ChronicleError } from "../../core/values/errors.ts";
import type { Page } from "./reply-shapes.ts";

/** Which part of a list is asked for. */
export interface Paging {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** How many are given where nobody says. */
export const PAGE = 100;

/** The most that is given at once. */
export const MAX_PAGE = 1_000;

/** The part of a whole list that begins after the item of the cursor; `key` names each item, and is a cursor. */
export function pageOf<Item>(all: readonly Item[], paging: Paging, key: (item: Item) => string): Page<Item> {
  const { limit = PAGE, cursor } = paging;
  const begin = cursor === undefined ? 0 : all.findIndex((item) => key(item) === cursor) + 1;
  if (cursor !== undefined && begin === 0) throw strayCursor();
  const items = all.slice(begin, begin + limit);
  const last = items.at(-1);
  return { items, next: begin + limit < all.length && last !== undefined ? key(last) : null };
}

/** The page that was asked for with one item more than it may hold. */
export function pageWithMore<Item>(found: readonly Item[], limit: number, key: (item: Item) => string): Page<Item> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, next: found.length > limit && last !== undefined ? key(last) : null };
}

/** The number that a cursor is. */
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
