import { checkLine } from "../../core/log/chain.ts";
import type { ChronicleError } from "../../core/values/errors.ts";
import type { Head } from "../../core/values/event.ts";
import { damagedAt } from "./damaged-log.ts";
import type { HistoryContext } from "./context.ts";
import { wholeOrNone } from "./read-events.ts";

/**
 * What is wrong with the first line of the log that does not go on from the one before; `undefined`: none up to the head. Every line is
 * read: a look at the log's end, with which commands begin, does not find one that was changed further up.
 */
export async function chainFault({ log, index }: HistoryContext): Promise<ChronicleError | undefined> {
  const head = await index.head();
  let prev: Head | undefined;
  for await (const lines of log.read({ seq: 1, offset: 0 })) {
    for (const { bytes, offset, lineNumber } of lines) {
      // Behind the head, a crash may have torn what was never acknowledged.
      if (prev !== undefined && prev.seq >= head.seq) return undefined;
      const first = prev === undefined ? wholeOrNone(bytes) : undefined;
      const checked = prev === undefined ? undefined : checkLine(bytes, prev);
      const event = checked !== undefined && "event" in checked ? checked.event : first;
      if (event === undefined) {
        const detail =
          checked !== undefined && "fault" in checked ? checked.fault.detail : "its first line is not whole";
        return damagedAt({ seq: (prev?.seq ?? 0) + 1, offset }, lineNumber, detail);
      }
      prev = event;
    }
  }
  return undefined;
}
