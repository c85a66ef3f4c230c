import { withZone } from "../core/values/moment.ts";
import type { CalendarTime } from "../core/values/spoken-time.ts";

/** Returns the milliseconds since 1970 (UTC) of a calendar time in the zone of this process (`TZ`). */
function localToUtc([year, month, day, ...clock]: CalendarTime): number {
  // The year is set separately, because the constructor takes the years 0 to 99 for 1900 to 1999.
  const time = new Date(2000, 0, 1, ...clock);
  return time.setFullYear(year, month, day);
}

/** Returns a time, in milliseconds since 1970 (UTC), as a calendar time in the zone of this process. */
function localFromUtc(ms: number): CalendarTime {
  const at = new Date(ms);
  const clock = [at.getHours(), at.getMinutes(), at.getSeconds(), at.getMilliseconds()] as const;
  return [at.getFullYear(), at.getMonth(), at.getDate(), ...clock];
}

/**
 * Converts a time without a zone, or a spoken time (`monday 9:00`), to UTC. Such a time is in the zone of this process
 * (`TZ`). Returns any other text unchanged.
 */
export function inLocalZone(text: string): string {
  return withZone(text, { toUtc: localToUtc, fromUtc: localFromUtc }, Date.now());
}

/**
 * Returns the minute of an ISO-8601 time in the zone of this process (`TZ`): `09:12` for a time of the same day as `now`
 * (epoch milliseconds), else `2026-01-31 09:12`.
 */
export function localMinute(iso: string, now: number): string {
  const two = (number: number): string => String(number).padStart(2, "0");
  const dayOf = ([year, month, date]: CalendarTime): string => `${year}-${two(month + 1)}-${two(date)}`;
  const at = localFromUtc(Date.parse(iso));
  const clock = `${two(at[3] ?? 0)}:${two(at[4] ?? 0)}`;
  return dayOf(at) === dayOf(localFromUtc(now)) ? clock : `${dayOf(at)} ${clock}`;
}
