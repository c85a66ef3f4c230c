import { type CalendarTime, withZone } from "../core/values/moment.ts";

/** Converts a local time, by the zone of this process (`TZ`), to milliseconds since 1970. */
function localToUtc([year, month, day, ...clock]: CalendarTime): number {
  // The constructor maps the years 0 to 99 to another century.
  const time = new Date(2000, 0, 1, ...clock);
  return time.setFullYear(year, month, day);
}

/** Returns a moment as typed; a time without a zone gets the user's zone. */
export function inLocalZone(text: string): string {
  return withZone(text, localToUtc);
}
