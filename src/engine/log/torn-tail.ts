import { parseLine } from "../../core/log/chain.ts";
import { markOf } from "../../core/log/commit-mark.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { LogEvent } from "../../core/values/event.ts";
import type { EventLog, LogPosition } from "../../storage/event-log.ts";

/** The bytes with which a line begins. No record holds them in a text, where quotes are escaped. */
const BEGINNING = Buffer.from('{"hash":"');

/**
 * Returns the first event behind a bad line that ends a commit later than the one that begins at `first`. A crash
 * cannot leave such an event: the later commit was not begun before the one with the bad line was durable. So the bad
 * line is damage.
 *
 * The pages of one append may become durable in any order. So sound lines, and the end of the same commit, can stand
 * behind a hole. A damaged newline joins two lines, so the sound end of a bad line counts too.
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

/** Returns the event at the end of a line that is sound by itself. */
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
