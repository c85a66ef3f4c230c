import type { IndexStore } from "../../../storage/index-store.ts";
import { isInBase } from "../../../engine/log/read-base.ts";

const WINDOW = 2_000;

/**
 * Returns the seq of the last event that is older than `ms` milliseconds; 0 if there is no such event. `now` is the
 * present time, in milliseconds since the epoch. Events in the log's base count as older. An event whose time is more
 * than `ms` after `now` also counts as older, because the clock may have been set back since.
 */
export async function eventBefore(
  index: Pick<IndexStore, "events" | "head">,
  now: number,
  ms: number,
): Promise<number> {
  for (let to = (await index.head()).seq; to > 0;) {
    const rows = await index.events({ from: 1, to, limit: WINDOW, descending: true });
    const old = rows.find((row) => isInBase(row) || Math.abs(now - Date.parse(row.ts)) > ms);
    if (old !== undefined) return old.seq;
    if (rows.length < WINDOW) return 0;
    to = (rows.at(-1)?.seq ?? 1) - 1;
  }
  return 0;
}
