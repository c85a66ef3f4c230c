import { ERASE } from "../../core/records/erase-record.ts";
import { Erasures } from "../../core/records/erasures.ts";
import type { HistoryContext } from "../log/context.ts";
import { readEvents } from "../log/read-events.ts";
import { memoKey } from "../log/memo.ts";

interface Known {
  readonly seq: number;
  readonly last: number;
  readonly erasures: Erasures;
}

const known = memoKey<Known>("erasures in force");

/**
 * Returns the erasures that the index has. Remembers the erasures. Reads them again only if the index has a new
 * erasure, or if the index now ends at an earlier event than at the last read.
 */
export async function erasuresInForce(context: HistoryContext): Promise<Erasures> {
  const { seq } = await context.index.head();
  const seen = context.memo.get(known);
  if (seen?.seq === seq) return seen.erasures;
  const rows = await context.index.records(ERASE);
  const last = rows.at(-1)?.seq ?? 0;
  const erasures = seen?.last === last && seen.seq <= seq ? seen.erasures : new Erasures();
  if (erasures !== seen?.erasures)
    for (const event of await readEvents(context, rows)) erasures.add(event.recordId, event.seq, event.record);
  context.memo.set(known, { seq, last, erasures });
  return erasures;
}
