import { greatestOf, leastOf } from "../../util/long-lists.ts";
import { optional } from "../../util/optional.ts";

// This module handles the times of a log whose writer's clock was wrong for a while. Events are ordered by seq. The
// time of an event is the time of the writer's clock. Times grow with seq, unless the clock was set back between two
// events. Such a step back is a jump.

export interface ClockJump {
  /** The first event after the jump. */
  readonly seq: number;
  /** The time of that event (ISO 8601). */
  readonly ts: string;
  /** The time of the previous event, which is later than `ts`. */
  readonly before: string;
}

export interface TimedEvent {
  readonly seq: number;
  readonly ts: string;
}

/**
 * The length above which a jump is notable, in milliseconds. Shorter jumps are not notable, because clocks are adjusted
 * by seconds all the time.
 */
const TOLD_FROM_MS = 120_000;

/**
 * Returns the jumps within these events, which must be ordered by seq. `last` is the time of the event before the first
 * of these events; `undefined` if there is none.
 */
export function clockJumpsIn(events: Iterable<TimedEvent>, last: string | undefined): ClockJump[] {
  const jumps: ClockJump[] = [];
  let before = last;
  for (const { seq, ts } of events) {
    if (before !== undefined && ts < before) jumps.push({ seq, ts, before });
    before = ts;
  }
  return jumps;
}

export function notableJumps(jumps: readonly ClockJump[]): readonly ClockJump[] {
  return jumps.filter(({ ts, before }) => Date.parse(before) - Date.parse(ts) > TOLD_FROM_MS);
}

/** The events from one seq to another, both inclusive. */
export interface SeqSpan {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the spans between the jumps, with the last span first. Within each span, times grow with seq. The only
 * exceptions are the spans of `behind`. No jump splits these spans. All events of such a span are treated as if they
 * were recorded at the `ts` of the span.
 */
export function spansBetween(
  jumps: readonly ClockJump[],
  { from, to }: SeqSpan,
  behind: readonly BehindSpan[] = [],
): (SeqSpan & Partial<BehindSpan>)[] {
  const isWithin = (seq: number): boolean => behind.some((one) => seq > one.from && seq <= one.to);
  const cuts = [...jumps.map(({ seq }) => seq), ...behind.map((one) => one.to + 1)];
  const inside = cuts.filter((seq) => seq > from && seq <= to && !isWithin(seq));
  const starts = [...new Set([from, ...inside])].sort((a, b) => a - b);
  return starts
    .map((start, i) => {
      const ts = behind.find((one) => one.from === start)?.ts;
      return { from: start, to: (starts[i + 1] ?? to + 1) - 1, ...optional({ ts }) };
    })
    .reverse();
}

/**
 * The events that were recorded while the clock was behind. These events are treated as if they were recorded at the
 * time `ts`, which is the time of the event before the span.
 */
export interface BehindSpan extends SeqSpan {
  readonly ts: string;
}

/** The first event in a span with a given time or a later time. */
export interface Crossing {
  readonly seq: number;
  readonly ts: string;
  /** The time of the previous event; `undefined` if there is none. */
  readonly before: string | undefined;
}

/**
 * Finds the spans in which the clock was behind. Such a span begins at a notable jump. A jump has one of two causes:
 * the clock was ahead before the jump, or it is behind after the jump. If the clock was ahead, it has leapt forward
 * before the jump, by at least the length of the jump. If the clock is behind, it leaps forward after the jump, by at
 * least the length of the jump. If neither leap is found, or if both are found, the clock is assumed to have been
 * ahead.
 *
 * `firstFrom` returns the first event in `span` with the time `ts` or a later time; `undefined` if there is none.
 */
export async function spansBehind(
  all: readonly ClockJump[],
  { from, to }: SeqSpan,
  firstFrom: (span: SeqSpan, ts: string) => Promise<Crossing | undefined>,
): Promise<BehindSpan[]> {
  const jumps = all.filter(({ seq }) => seq > from && seq <= to);
  const starts = [from, ...jumps.map(({ seq }) => seq), to + 1];
  const found: BehindSpan[] = [];
  for (const [i, jump] of jumps.entries()) {
    if (jump.seq <= (found.at(-1)?.to ?? from)) continue;
    const back = Date.parse(jump.before) - Date.parse(jump.ts);
    if (back <= TOLD_FROM_MS) continue;
    const leaps = (at: Crossing | undefined): boolean =>
      at?.before !== undefined && Date.parse(at.ts) - Date.parse(at.before) >= back;
    const last = starts[i] ?? from;
    if (leaps(await firstFrom({ from: last, to: jump.seq - 1 }, jump.ts))) continue;
    let caughtUp: Crossing | undefined;
    for (let k = i + 1; k < starts.length - 1 && caughtUp === undefined; k += 1)
      caughtUp = await firstFrom({ from: starts[k] ?? to, to: (starts[k + 1] ?? to + 1) - 1 }, jump.before);
    if (caughtUp !== undefined && leaps(caughtUp))
      found.push({ from: jump.seq, to: caughtUp.seq - 1, ts: jump.before });
  }
  return found;
}

/**
 * Returns the most plausible time at which an event was recorded, in milliseconds since 1970. This is the event's own
 * time, with two corrections:
 * - A time after the present time `now` means that the clock was ahead. Such a time is lowered to `now` or to the
 *   earliest `ts` of the later jumps, whichever is earlier.
 * - The result is at least the `before` of each jump up to this event. A `before` that is after `now` does not count.
 */
export function plausibleTime({ seq, ts }: TimedEvent, jumps: readonly ClockJump[], now: number): number {
  const own = Date.parse(ts);
  const earlier = jumps.filter((jump) => jump.seq <= seq).map((jump) => Date.parse(jump.before));
  const notBefore = greatestOf(earlier.filter((time) => time <= now));
  if (own <= now) return Math.max(own, notBefore);
  const following = jumps.filter((jump) => jump.seq > seq).map((jump) => Date.parse(jump.ts));
  return Math.max(Math.min(now, leastOf(following)), notBefore);
}
