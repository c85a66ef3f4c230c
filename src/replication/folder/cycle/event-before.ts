import type { IndexStore } from "../../../storage/index-store.ts";
import { isInBase } from "../../../engine/log/read-base.ts";

/** Events that are looked at together. */
const WINDOW = 2_000;

/**
 * The last event that is more than so many milliseconds away from a moment (epoch milliseconds); 0: none. One behind a jump of the
 * clock is, whichever way it jumped.
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
