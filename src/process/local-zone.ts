import { withZone } from "../core/values/moment.ts";
import type { CalendarTime } from "../core/values/spoken-time.ts";

/** Returns the milliseconds since 1970 (UTC) of a calendar time in the zone of this process (`TZ`). */
function localToUtc([year, month, day, ...clock]: CalendarTime): number {
  // The year is set separately, because the constructor takes the years 0 to 99 for 1900 to 1999.
  const time = new Date(2000, 0, 1, ...clock);
  return time.setFullYear(year, month, day);
}

function localNow(): CalendarTime {
  const now = new Date();
  const clock = [now.getHours(), now.getMinutes(), now.getSeconds(), now.getMilliseconds()] as const;
  return [now.getFullYear(), now.getMonth(), now.getDate(), ...clock];
}

/**
 * Converts a moment that is a time without a zone, or a spoken time (`monday 9:00`), to the same moment in UTC. Such a
 * time is in the zone of this process (`TZ`). Returns any other text unchanged.
 */
export function inLocalZone(text: string): string {
  return withZone(text, { toUtc: localToUtc, now: localNow });
}
