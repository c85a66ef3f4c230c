import { parseLine } from "../../core/log/chain.ts";
import { markOf } from "../../core/log/commit-mark.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { LogEvent } from "../../core/values/event.ts";
import type { EventLog, LogPosition } from "../../storage/event-log.ts";

/** A line begins so. No record holds these bytes in a text: its quotes are escaped there. */
const BEGINNING = Buffer.from('{"hash":"');

/**
 * The first event behind a bad line that ends a commit later than the one that begins at `first`. A crash can have left no
 * such event: that later commit was not begun before the one with the bad line was durable, so what is bad is damage.
 *
 * The pages of one append may become durable in any order. Sound lines, and the end of the same commit, can therefore
 * stand behind a hole. A newline that is damaged joins two lines, so the sound end of a bad line counts too.
 */
export async function laterCommitEnd(log: EventLog, bad: LogPosition, first: number): Promise<LogEvent | undefined> {
  for await (const lines of log.read(bad)) {
    for (const { bytes } of lines) {
      const event = soundEnd(bytes);
      const mark = event === undefined ? undefined : markOf(event);
      if (mark !== undefined && mark.first > first) return event;
    }
  }
  return undefined;
}

/** The event that stands at the end of a line, sound by itself. */
function soundEnd(line: Buffer): LogEvent | undefined {
  for (let at = line.lastIndexOf(BEGINNING); at >= 0;) {
    const event = sound(line.subarray(at));
    if (event !== undefined) return event;
    at = at === 0 ? -1 : line.lastIndexOf(BEGINNING, at - 1);
  }
  return undefined;
}

function sound(bytes: Buffer): LogEvent | undefined {
  try {
    return parseLine(bytes);
  } catch (error) {
    if (error instanceof ChronicleError) return undefined;
    throw error;
  }
}
