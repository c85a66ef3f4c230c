import { type CalendarTime, withZone } from "../core/values/moment.ts";

/** Converts a local time to milliseconds since 1970, using the zone of this process (`TZ`). */
function localToUtc([year, month, day, ...clock]: CalendarTime): number {
  // The year is set separately, because the constructor maps the years 0 to 99 to another century.
  const time = new Date(2000, 0, 1, ...clock);
  return time.setFullYear(year, month, day);
}

/** Returns a moment as it was typed. A time without a zone gets the zone of the user. */
export function inLocalZone(text: string): string {
  return withZone(text, localToUtc);
}
