/**
 * Times of a log whose clock was wrong for a while. Order is by seq; a time is what the writer's clock said. So times grow
 * with seq, except where the clock went back between two events: there is a jump.
 */

/** A place in a log where the clock had gone back. */
export interface ClockJump {
  /** The first event behind it. */
  readonly seq: number;
  /** The time of that event (ISO-8601). */
  readonly ts: string;
  /** The time of the event before it, which is later. */
  readonly before: string;
}

/** An event's place and its time, as it stands in the log. */
export interface TimedEvent {
  readonly seq: number;
  readonly ts: string;
}

/** A jump that is smaller says nothing: clocks are set right by seconds all the time. */
const TOLD_FROM_MS = 120_000;

/** The jumps among events, in the order of seq, whose predecessor has the time `last` (`undefined`: there is none). */
export function clockJumpsIn(events: Iterable<TimedEvent>, last: string | undefined): ClockJump[] {
  const jumps: ClockJump[] = [];
  let before = last;
  for (const { seq, ts } of events) {
    if (before !== undefined && ts < before) jumps.push({ seq, ts, before });
    before = ts;
  }
  return jumps;
}

/** Jumps that people should know of. */
export function notableJumps(jumps: readonly ClockJump[]): readonly ClockJump[] {
  return jumps.filter(({ ts, before }) => Date.parse(before) - Date.parse(ts) > TOLD_FROM_MS);
}

/** Events from one seq up to another. */
export interface SeqSpan {
  readonly from: number;
  readonly to: number;
}

/** The spans between the jumps, the last one first: within each of them times grow with seq. */
export function spansBetween(jumps: readonly ClockJump[], { from, to }: SeqSpan): SeqSpan[] {
  const starts = [from, ...jumps.map(({ seq }) => seq).filter((seq) => seq > from && seq <= to)];
  return starts.map((start, i) => ({ from: start, to: (starts[i + 1] ?? to + 1) - 1 })).reverse();
}

/**
 * When an event was recorded, in milliseconds since 1970, as far as the log tells, at the time `now`. An event that is later
 * than now was recorded before those that follow it; one with a clock that had gone back, after those before it.
 */
export function plausibleTime({ seq, ts }: TimedEvent, jumps: readonly ClockJump[], now: number): number {
  const own = Date.parse(ts);
  const earlier = jumps.filter((jump) => jump.seq <= seq).map((jump) => Date.parse(jump.before));
  const notBefore = Math.max(...earlier.filter((time) => time <= now));
  if (own <= now) return Math.max(own, notBefore);
  const following = jumps.filter((jump) => jump.seq > seq).map((jump) => Date.parse(jump.ts));
  return Math.max(Math.min(now, ...following), notBefore);
}
