import { greatestOf, leastOf } from "../../util/long-lists.ts";
import { optional } from "../../util/optional.ts";

/**
 * Handles the times of a log whose clock was wrong for a while. The order is by seq; a time is what the writer's clock
 * said. Times therefore grow with seq, except where the clock went back between two events: that is a jump.
 */

/** A place in a log where the clock went back. */
export interface ClockJump {
  /** The first event after the jump. */
  readonly seq: number;
  /** The time of that event (ISO-8601). */
  readonly ts: string;
  /** The time of the event before it, which is later. */
  readonly before: string;
}

/** An event's seq and its time in the log. */
export interface TimedEvent {
  readonly seq: number;
  readonly ts: string;
}

/** A jump is notable if it is longer than this, in milliseconds: clocks are adjusted by seconds all the time. */
const TOLD_FROM_MS = 120_000;

/**
 * Finds the jumps among events in seq order. `last`: the time of the event before them (`undefined`: there is none).
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

/** Returns the jumps that people should know about. */
export function notableJumps(jumps: readonly ClockJump[]): readonly ClockJump[] {
  return jumps.filter(({ ts, before }) => Date.parse(before) - Date.parse(ts) > TOLD_FROM_MS);
}

/** Events from one seq to another, inclusive. */
export interface SeqSpan {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the spans between the jumps, the last one first. Times grow with seq within each of them. A span of `behind`
 * is not divided: all of it counts as recorded at its `ts`.
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

/** Events whose clock was behind: all count as recorded right after the event before them, whose time is `ts`. */
export interface BehindSpan extends SeqSpan {
  readonly ts: string;
}

/** The first event in a span whose time is at or after a given time; with its time and its predecessor's. */
export interface Crossing {
  readonly seq: number;
  readonly ts: string;
  /** `undefined` if it is the first event of the log. */
  readonly before: string | undefined;
}

/**
 * Finds the spans after notable jumps in which the clock was behind, and was not ahead before. A clock that was ahead
 * has leapt forward before the jump, by at least as much as it then goes back. A clock that was behind leaps forward
 * after the jump. If neither leap is found, or both are, the clock counts as ahead. `firstFrom`: finds the first event
 * of a span whose time is at or after a time.
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
 * Returns the most plausible time at which an event was recorded, in milliseconds since 1970. `now` is the present
 * time. An event whose time is after now counts as recorded before the events that follow a later jump, and an event
 * after a jump as recorded after the events before it.
 */
export function plausibleTime({ seq, ts }: TimedEvent, jumps: readonly ClockJump[], now: number): number {
  const own = Date.parse(ts);
  const earlier = jumps.filter((jump) => jump.seq <= seq).map((jump) => Date.parse(jump.before));
  const notBefore = greatestOf(earlier.filter((time) => time <= now));
  if (own <= now) return Math.max(own, notBefore);
  const following = jumps.filter((jump) => jump.seq > seq).map((jump) => Date.parse(jump.ts));
  return Math.max(Math.min(now, leastOf(following)), notBefore);
}
