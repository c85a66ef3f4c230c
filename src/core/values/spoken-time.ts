/** The year, month (from 0), day, hour, minute, second and millisecond of a time without a zone. */
export type CalendarTime = readonly [number, number, number, number, number, number, number];

/** A day or a time of day as people say it, such as `yesterday`, `9am` or `monday 9:00`. It is relative to the present. */
export interface SpokenTime {
  /** `undefined` for a time of day alone. A number is a day of the week, from 0 for Sunday. */
  readonly day: "today" | "yesterday" | number | undefined;
  /** The hour, minute and second. */
  readonly clock: Clock | undefined;
}

type Clock = readonly [number, number, number];

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The units of `parseAgo`, from large to small. A month has 30 days and a year 365, as in `formatAgo`. */
const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^y(?:ears?)?$/, 365 * DAY],
  [/^months?$/, 30 * DAY],
  [/^w(?:eeks?)?$/, 7 * DAY],
  [/^d(?:ays?)?$/, DAY],
  [/^h(?:(?:ou)?rs?)?$/, HOUR],
  [/^m(?:in(?:ute)?s?)?$/, MINUTE],
  [/^s(?:ec(?:ond)?s?)?$/, SECOND],
];

const AMOUNT = /^(\d+(?:\.\d+)?|an?(?= ))\s*([a-z]+)(?:\s*,\s*|\s+and\s+|\s+|$|(?=\d))/;
const MAX_LENGTH = 64;

/**
 * Parses a length of time as people say it, to whole milliseconds: `10min`, `1 minute ago`, `2 hours, 5 minutes ago`, `an
 * hour ago`. Units go from large to small, each at most once. Returns `undefined` for any other text.
 */
export function parseAgo(text: string): number | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  let rest = text.toLowerCase().replace(/\s+ago$/, "");
  let total = 0;
  let last = -1;
  while (rest !== "") {
    const [whole = "", amount = "", word = ""] = AMOUNT.exec(rest) ?? [];
    const unit = UNITS.findIndex(([name]) => name.test(word));
    if (whole === "" || unit <= last) return undefined;
    last = unit;
    total += (amount.startsWith("a") ? 1 : Number(amount)) * (UNITS[unit]?.[1] ?? 0);
    rest = rest.slice(whole.length);
  }
  return last < 0 || !Number.isSafeInteger(Math.round(total)) ? undefined : Math.round(total);
}

const WEEKDAYS = [
  /^sun(?:day)?$/,
  /^mon(?:day)?$/,
  /^tue(?:s(?:day)?)?$/,
  /^wed(?:nesday)?$/,
  /^thu(?:r(?:s(?:day)?)?)?$/,
];
const DAYS: readonly RegExp[] = [...WEEKDAYS, /^fri(?:day)?$/, /^sat(?:urday)?$/];
const CLOCK = /^(\d{1,2})(?::(\d\d)(?::(\d\d))?)?\s*(am|pm)?$/;
const SPOKEN = /^(?:(?:last\s+)?([a-z]+))?\s*(?:(?:^|\s)(?:at\s+)?(\d.*|noon|midnight))?$/;

/** Parses a day, a time of day or both. Returns `undefined` for any other text, and for an hour alone (`9`). */
export function parseSpokenTime(text: string): SpokenTime | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const said = text.toLowerCase();
  const alone = clockOf(said);
  if (alone !== undefined) return /^\d+$/.test(said) ? undefined : { day: undefined, clock: alone };
  const [, dayWord, clockWord] = SPOKEN.exec(said) ?? [];
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

/**
 * Returns the calendar time that is meant. `now` is the present in the speaker's zone.
 *
 * - A day of the week is the last one. Today is meant only with a time of day that has passed.
 * - A time of day alone is the last time at which the clock showed it, today or yesterday.
 * - `yesterday` and a day of the week have the present time of day, unless one is given. `today` is its beginning.
 */
export function calendarTimeOf({ day, clock }: SpokenTime, now: CalendarTime): CalendarTime {
  const [year, month, date, hour, minute, second] = now;
  const present: Clock = [hour, minute, second];
  const back = daysBack({ day, clock }, new Date(Date.UTC(year, month, date)).getUTCDay(), present);
  const then = new Date(Date.UTC(year, month, date - back));
  const time = clock ?? (day === "today" ? ([0, 0, 0] as const) : present);
  return [then.getUTCFullYear(), then.getUTCMonth(), then.getUTCDate(), ...time, 0];
}

function daysBack({ day, clock }: SpokenTime, today: number, present: Clock): number {
  const isAhead = clock !== undefined && inSeconds(clock) > inSeconds(present);
  if (day === "today") return 0;
  if (day === "yesterday") return 1;
  if (day === undefined) return isAhead ? 1 : 0;
  const back = (today - day + 7) % 7;
  return back === 0 && (clock === undefined || isAhead) ? 7 : back;
}

function inSeconds([hour, minute, second]: Clock): number {
  return (hour * 60 + minute) * 60 + second;
}
