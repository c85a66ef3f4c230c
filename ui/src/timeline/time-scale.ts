/** The range of time that is shown. Times are in epoch milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The minimum and the maximum length of the shown time, in milliseconds. */
const SHORTEST = 2 * SECOND;
const LONGEST = 5 * 365 * DAY;

const STEPS = [
  ...[1, 2, 5, 10, 30].map((one) => one * SECOND),
  ...[1, 2, 5, 10, 30].map((one) => one * MINUTE),
  ...[1, 3, 6, 12].map((one) => one * HOUR),
  ...[1, 2, 7, 14, 30, 90, 365, 730, 1_825].map((one) => one * DAY),
];

/** Returns the span that contains all times, with some room before and after them. */
export function wholeSpan(times: readonly number[]): Span {
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (const time of times) {
    if (time < from) from = time;
    if (time > to) to = time;
  }
  if (to < from) return { from: Date.now() - HOUR, to: Date.now() };
  const room = Math.max((to - from) * 0.04, 5 * SECOND);
  return { from: from - room, to: to + room };
}

/**
 * Returns the span after a zoom by `factor` (below 1: closer). The time at `share` of the width (0 to 1) stays in
 * place.
 */
export function zoomed({ from, to }: Span, factor: number, share = 0.5): Span {
  const length = to - from;
  const wanted = Math.min(LONGEST, Math.max(SHORTEST, length * factor));
  const kept = from + length * share;
  return { from: kept - wanted * share, to: kept + wanted * (1 - share) };
}

export function moved({ from, to }: Span, ms: number): Span {
  return { from: from + ms, to: to + ms };
}

export function positionOf({ from, to }: Span, time: number, width: number): number {
  return ((time - from) / (to - from)) * width;
}

export function timeAt({ from, to }: Span, x: number, width: number): number {
  return from + (x / width) * (to - from);
}

export interface Tick {
  readonly time: number;
  readonly label: string;
}

/**
 * Returns the marks of the axis: round times in the time zone of the browser, at least `apart` pixels from each other.
 */
export function ticksOf(span: Span, width: number, apart = 90): Tick[] {
  const perPixel = (span.to - span.from) / Math.max(1, width);
  const step = STEPS.find((one) => one / perPixel >= apart) ?? STEPS.at(-1) ?? DAY;
  const zone = new Date(span.from).getTimezoneOffset() * MINUTE;
  const first = Math.ceil((span.from - zone) / step) * step + zone;
  const ticks: Tick[] = [];
  for (let time = first; time <= span.to; time += step) ticks.push({ time, label: labelOf(time, step) });
  return ticks;
}

const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "short", year: "numeric" });
const MINUTES = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const SECONDS = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** The step, in milliseconds, from which on the labels of the axis contain the year. */
const YEARS = 90 * DAY;

function labelOf(time: number, step: number): string {
  if (step >= YEARS) return MONTH.format(time);
  const date = new Date(time);
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0;
  if (step >= DAY || isMidnight) return DATE.format(date);
  return (step < MINUTE ? SECONDS : MINUTES).format(date);
}
