import { parseLine, checkLine } from "../../core/log/chain.ts";
import { markOf } from "../../core/log/commit-mark.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { LogEvent, Head } from "../../core/values/event.ts";
import type { EventLog, LogPosition } from "../../storage/event-log.ts";
import { damagedAt } from "./damaged-log.ts";
import type { HistoryContext } from "./context.ts";
import { isInBase } from "./read-base.ts";
import { wholeOrNone } from "./read-events.ts";

/**
 * Returns the fault of the first line that breaks the chain; `undefined` if no line up to the head of the index does.
 * Reads every line, because the end of the log does not show that an earlier line is damaged.
 */
async function chainFault({ log, index }: HistoryContext): Promise<ChronicleError | undefined> {
  const head = await index.head();
  let prev: Head | undefined;
  for await (const lines of log.read({ seq: 1, offset: 0 })) {
    for (const { bytes, offset, lineNumber } of lines) {
      // Lines after the head were never acknowledged, and a crash may have torn them.
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

/**
 * Looks for a damaged line in the whole log, and returns its fault. Notes the seq of that line in the index, so that
 * later commands read only that line. Must be called only after a sign of damage, because it reads the whole log.
 */
export async function findDamage(context: HistoryContext): Promise<ChronicleError | undefined> {
  const fault = await chainFault(context);
  const seq = fault?.data?.["seq"];
  if (typeof seq === "number") await context.index.noteDamaged(seq);
  return fault;
}

/**
 * Returns the error for the damaged line that the index notes. Removes the note if that line is sound again, or is
 * gone.
 */
export async function knownDamage(context: HistoryContext, oldest: number): Promise<ChronicleError | undefined> {
  const { index, log } = context;
  const seq = await index.damagedSeq();
  if (seq === 0) return undefined;
  const row = await index.locate(seq);
  if (row !== undefined && seq >= oldest && !isInBase(row)) {
    for await (const [line] of log.read({ seq, offset: row.offset })) {
      if (line === undefined) continue;
      const event = wholeOrNone(line.bytes);
      if (event?.seq === seq && event.hash === row.hash) break;
      return damagedAt({ seq, offset: row.offset }, line.lineNumber, "it is not what was recorded");
    }
  }
  await index.noteDamaged(0);
  return undefined;
}

/**
 * Returns the fault of a damaged line if a later commit follows it. Returns `undefined` for a torn tail, which
 * `catchUp` cuts off.
 */
export async function damageAmid(context: HistoryContext): Promise<ChronicleError | undefined> {
  const fault = await chainFault(context);
  const { seq, offset } = fault?.data ?? {};
  if (typeof seq !== "number" || typeof offset !== "number") return undefined;
  return (await laterCommitEnd(context.log, { seq, offset }, seq)) === undefined ? undefined : fault;
}

/** The first bytes of a line. These bytes cannot occur inside a text of a record, because quotes are escaped there. */
const BEGINNING = Buffer.from('{"hash":"');

/**
 * Reads from a bad line on, and returns the first event that ends a commit that begins after event `first`. Such an
 * event proves that the bad line is damage. A crash cannot leave both the bad line and such an event, because a later
 * commit begins only once the earlier commit is durable.
 *
 * Sound lines of the same commit after the bad line do not prove damage, because a crash can leave the pages of one
 * append in any order. The end of a bad line may itself be a sound event, because a damaged newline joins two lines.
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
