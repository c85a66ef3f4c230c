import { decodeIntent } from "../../core/records/records.ts";
import type { Context } from "../log/context.ts";
import { isInBase } from "../log/read-base.ts";
import { readEvents } from "../log/read-events.ts";

/** Events that are searched at once. */
const PAGE = 2_000;

/**
 * Whether an operation that ended in (after, upTo] skipped or reverted some of its paths. It may have changed them and
 * taken that back when something blocked it: no event says which paths, and a scan in between saw states that nobody
 * left there.
 */
export async function isSomeSkipped(context: Context, after: number, upTo: number): Promise<boolean> {
  for (let from = after + 1; from <= upTo; from += PAGE) {
    const rows = await context.index.events({ from, to: Math.min(upTo, from + PAGE - 1) });
    const ends = rows.filter((row) => !row.open && row.recordId.startsWith("intent:") && !isInBase(row));
    for (const { record } of await readEvents(context, ends)) {
      const { state, skipped = 0 } = decodeIntent(record);
      if (state === "abandoned" || skipped > 0) return true;
    }
  }
  return false;
}
