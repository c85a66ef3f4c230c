/** The year, month (from 0), day, hour, minute, second and millisecond of a time without a zone. */
export type CalendarTime = readonly [number, number, number, number, number, number, number];

/** A day or a time of day in words, relative to the present, such as `yesterday`, `9am` or `monday 9:00`. */
export interface SpokenTime {
  /** A number is a day of the week (0 for Sunday). `undefined` for a time of day alone. */
  readonly day: "today" | "yesterday" | number | undefined;
  /** The hour, minute and second. */
  readonly clock: Clock | undefined;
}

type Clock = readonly [number, number, number];

const MAX_LENGTH = 64;

/** The days of the week, from Sunday. */
const DAYS: readonly RegExp[] = [
  /^sun(?:day)?$/,
  /^mon(?:day)?$/,
  /^tue(?:s(?:day)?)?$/,
  /^wed(?:nesday)?$/,
  /^thu(?:r(?:s(?:day)?)?)?$/,
  /^fri(?:day)?$/,
  /^sat(?:urday)?$/,
];
const CLOCK = /^(\d{1,2})(?::(\d\d)(?::(\d\d))?)?\s*(am|pm)?$/;
const DAY_FIRST = /^(?:last\s+)?([a-z]+)(?:,?\s+(?:at\s+)?(\d.*|noon|midnight))?$/;
const CLOCK_FIRST = /^(\d.*|noon|midnight),?\s+(?:last\s+)?([a-z]+)$/;

/** Parses a day, a time of day or both. Returns `undefined` for any other text, and for an hour alone (`9`). */
export function parseSpokenTime(text: string): SpokenTime | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const said = text.toLowerCase();
  const alone = clockOf(said);
  if (alone !== undefined) return /^\d+$/.test(said) ? undefined : { day: undefined, clock: alone };
  const [, clockBefore, dayBehind] = CLOCK_FIRST.exec(said) ?? [];
  const [, dayWord = dayBehind, clockWord = clockBefore] = DAY_FIRST.exec(said) ?? [];
  const day = dayOf(dayWord ?? "");
  const clock = clockWord === undefined ? undefined : clockOf(clockWord);
  const isKnown = day !== undefined && (clockWord === undefined || clock !== undefined);
  return isKnown && !(typeof day === "string" && said.startsWith("last")) ? { day, clock } : undefined;
}

function dayOf(word: string): SpokenTime["day"] {
  if (word === "today" || word === "yesterday") return word;
  const weekday = DAYS.findIndex((name) => name.test(word));
  return weekday < 0 ? undefined : weekday;
}

function clockOf(word: string): Clock | undefined {
  if (word === "noon") return [12, 0, 0];
  if (word === "midnight") return [0, 0, 0];
  const [, hours, minutes = "0", seconds = "0", half] = CLOCK.exec(word) ?? [];
  if (hours === undefined) return undefined;
  const typed = Number(hours);
  if (half !== undefined && (typed < 1 || typed > 12)) return undefined;
  const hour = half === undefined ? typed : (typed % 12) + (half === "pm" ? 12 : 0);
  const clock: Clock = [hour, Number(minutes), Number(seconds)];
  return clock[0] < 24 && clock[1] < 60 && clock[2] < 60 ? clock : undefined;
}

/** A time zone for times that are written without a zone. Times in UTC are milliseconds since 1970. */
export interface Zone {
  /**
   * Converts a time to UTC. If the clock shows the time twice (because it was set back), the first occurrence counts.
   * If the clock skips the time, returns a later time.
   */
  readonly toUtc: (time: CalendarTime) => number;
  readonly fromUtc: (ms: number) => CalendarTime;
}

export const UTC: Zone = {
  toUtc: (time) => Date.UTC(...time),
  fromUtc: (ms) => {
    const at = new Date(ms);
    const clock = [at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds(), at.getUTCMilliseconds()] as const;
    return [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate(), ...clock];
  },
};

/**
 * The amounts, in ms, by which a clock may have been set back (0: not at all). A clock that was set back shows the same
 * times again.
 */
const SET_BACK = [0, 30 * 60_000, 60 * 60_000];
/**
 * The number of days, from today backwards, that are searched for a spoken time. Two weeks are needed if the clock
 * skipped the time on the last such day of the week.
 */
const MOST_DAYS = 15;

/**
 * Returns the time that a spoken time means, in milliseconds since 1970. `now` is the present.
 *
 * - A day of the week means its last occurrence. Today counts only if a time of day is given and has already passed.
 * - A time of day alone means the last moment at which the clock showed this time of day.
 * - Without a time of day, `yesterday` and a day of the week mean the present time of day on that day.
 * - Without a time of day, `today` means the beginning of today.
 */
export function spokenToUtc({ day, clock }: SpokenTime, zone: Zone, now: number): number {
  const [year, month, date, hour, minute, second] = zone.fromUtc(now);
  const calendar = (back: number, time: Clock): CalendarTime => {
    const then = new Date(Date.UTC(year, month, date - back));
    return [then.getUTCFullYear(), then.getUTCMonth(), then.getUTCDate(), ...time, 0];
  };
  const present: Clock = [hour, minute, second];
  if (day === "today") return zone.toUtc(calendar(0, clock ?? [0, 0, 0]));
  if (day === "yesterday") return zone.toUtc(calendar(1, clock ?? present));
  const today = new Date(Date.UTC(year, month, date)).getUTCDay();
  for (let back = 0; back < MOST_DAYS; back += 1) {
    if (day !== undefined && (today - day - back) % 7 !== 0) continue;
    if (clock === undefined && back === 0) continue;
    const wanted = calendar(back, clock ?? present);
    const shown = clock === undefined ? zone.toUtc(wanted) : lastShown(wanted, zone, now);
    if (shown !== undefined) return shown;
  }
  return zone.toUtc(calendar(day === undefined ? 1 : 7, clock ?? present));
}

/** Returns the last time, at most `now`, at which the clock of the zone showed this calendar time. */
function lastShown(wanted: CalendarTime, zone: Zone, now: number): number | undefined {
  const times = SET_BACK.map((later) => zone.toUtc(wanted) + later);
  return times.findLast((ms) => ms <= now && zone.fromUtc(ms).every((part, i) => part === wanted[i]));
}
