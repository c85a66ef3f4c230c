import { useSyncExternalStore } from "react";

const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const EXACT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const CLOCK = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

const YEAR = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

const STEPS: readonly (readonly [most: number, unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  [60, "second", 1],
  [3_600, "minute", 60],
  [86_400, "hour", 3_600],
  [86_400 * 14, "day", 86_400],
];

/** The interval, in milliseconds, at which the times on screen are renewed. */
const TICK_MS = 15_000;

let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  // `now` is renewed first. Otherwise, it could be earlier than the time of an event that is about to be shown.
  now = Date.now();
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const one of listeners) one();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Returns the time in epoch milliseconds. The time can be up to `TICK_MS` behind. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

/**
 * Shows a time in words, with the exact time on hover. A time in the future is shown exactly, because some clock is
 * wrong.
 */
export function Ago({ at }: { readonly at: string }) {
  const shown = useNow();
  const ms = Date.parse(at);
  return (
    <time dateTime={at} title={EXACT.format(ms)} className="time">
      {agoText(ms, shown)}
    </time>
  );
}

/** Returns the day and the minute, or, for a time in another year than `from`, the day and the year. */
function dateText(ms: number, from: number): string {
  return (new Date(ms).getFullYear() === new Date(from).getFullYear() ? DAY : YEAR).format(ms);
}

/** Returns a text such as `3 min. ago`. For a time that is older than two weeks, or in the future, returns the date. */
export function agoText(ms: number, from: number): string {
  const seconds = Math.round((from - ms) / 1_000);
  // `from` can be up to `TICK_MS` behind, so a slightly later time is not in the future.
  if (seconds < -(TICK_MS / 1_000 + 5)) return dateText(ms, from);
  if (seconds < 5) return "now";
  for (const [most, unit, size] of STEPS) if (seconds < most) return RELATIVE.format(-Math.floor(seconds / size), unit);
  return dateText(ms, from);
}

export function exactTime(ms: number): string {
  return EXACT.format(ms);
}

export function clockTime(ms: number): string {
  return CLOCK.format(ms);
}

/** Returns the day and the minute. */
export function shortTime(ms: number): string {
  return DAY.format(ms);
}
