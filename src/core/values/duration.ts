// Functions that format and parse times and sizes for people. The texts are English, and do not depend on the locale or
// the time zone.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;
const MONTH = 30 * DAY;
const YEAR = 365 * DAY;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY, w: WEEK };

/** The latest time that a `Date` can represent, in milliseconds since 1970. */
const MAX_TIME_MS = 8.64e15;

/** The maximum length of a text that is parsed, in characters. */
const MAX_LENGTH = 64;

/**
 * Parses a duration such as `10m`, `2h30m`, `3d`, `1w`, `1.5h` or `250ms` to whole milliseconds. Units must go from
 * large to small, each at most once. Returns `undefined` for any other text, and for more than `MAX_TIME_MS`.
 */
export function parseDuration(text: string): number | undefined {
  if (text.length > MAX_LENGTH || !/^(\d+(\.\d+)?(ms|[smhdw]))+$/.test(text)) return undefined;
  let total = 0;
  let previous = Number.POSITIVE_INFINITY;
  for (const [, amount, , unit] of text.matchAll(/(\d+(\.\d+)?)(ms|[smhdw])/g)) {
    const size = UNITS[unit ?? ""] ?? 0;
    if (size >= previous) return undefined;
    previous = size;
    total += Number(amount) * size;
  }
  return total <= MAX_TIME_MS ? Math.round(total) : undefined;
}

/** The units of `parseAgo`, from large to small. A month has 30 days, and a year has 365 days, as in `formatAgo`. */
const SPOKEN_UNITS: readonly (readonly [RegExp, number])[] = [
  [/^y(?:ears?)?$/, YEAR],
  [/^months?$/, MONTH],
  [/^w(?:eeks?)?$/, WEEK],
  [/^d(?:ays?)?$/, DAY],
  [/^h(?:(?:ou)?rs?)?$/, HOUR],
  [/^m(?:in(?:ute)?s?)?$/, MINUTE],
  [/^s(?:ec(?:ond)?s?)?$/, SECOND],
];

const AMOUNT = /^(\d+(?:\.\d+)?|(?:an?|one)(?= ))\s*([a-z]+)(?:\s*,\s*|\s+and\s+|\s+|$|(?=\d))/;

/**
 * Parses a length of time in people's words to whole milliseconds, such as `10min`, `1 minute ago`, `2 hours, 5 minutes
 * ago`, or `an hour ago`. Units must go from large to small, each at most once. Returns `undefined` for any other text,
 * and for more than `MAX_TIME_MS`.
 */
export function parseAgo(text: string): number | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  let rest = text.toLowerCase().replace(/\s+ago$/, "");
  let total = 0;
  let last = -1;
  while (rest !== "") {
    const [whole = "", amount = "", word = ""] = AMOUNT.exec(rest) ?? [];
    const unit = SPOKEN_UNITS.findIndex(([name]) => name.test(word));
    if (whole === "" || unit <= last) return undefined;
    last = unit;
    total += (/^[ao]/.test(amount) ? 1 : Number(amount)) * (SPOKEN_UNITS[unit]?.[1] ?? 0);
    rest = rest.slice(whole.length);
  }
  return last < 0 || total > MAX_TIME_MS ? undefined : Math.round(total);
}

/**
 * Formats a length of time in at most two units, rounded down: `0ms`, `850ms`, `4.2s`, `2m 5s`, `1h 30m`, `3d 4h`. A
 * negative length begins with `-`. Returns `unknown` for a number that is not finite.
 */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return "unknown";
  if (ms < 0) return `-${formatDuration(-ms)}`;
  if (ms < SECOND) return `${Math.floor(ms)}ms`;
  if (ms < 10 * SECOND) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)}s`;
  if (ms < HOUR) return twoUnits(ms, ["m", MINUTE], ["s", SECOND]);
  if (ms < DAY) return twoUnits(ms, ["h", HOUR], ["m", MINUTE]);
  return twoUnits(ms, ["d", DAY], ["h", HOUR]);
}

function twoUnits(ms: number, large: readonly [string, number], small: readonly [string, number]): string {
  const rest = Math.floor((ms % large[1]) / small[1]);
  return `${Math.floor(ms / large[1])}${large[0]}${rest === 0 ? "" : ` ${rest}${small[0]}`}`;
}

/**
 * Formats a time relative to `nowMs` (both in milliseconds since 1970): `just now`, `5 minutes ago`, `in 2 hours`.
 * Never returns `yesterday`, because this word depends on the time zone. Returns `at an unknown time` if `thenMs` is
 * not a time.
 */
export function formatAgo(thenMs: number, nowMs: number): string {
  const distance = Math.abs(nowMs - thenMs);
  if (!Number.isFinite(thenMs) || Math.abs(thenMs) > MAX_TIME_MS || Number.isNaN(distance)) return "at an unknown time";
  if (distance < 5 * SECOND) return "just now";
  const amount = inOneUnit(distance);
  return thenMs < nowMs ? `${amount} ago` : `in ${amount}`;
}

function inOneUnit(ms: number): string {
  const units = [
    [YEAR, "year"],
    [MONTH, "month"],
    [WEEK, "week"],
    [DAY, "day"],
    [HOUR, "hour"],
    [MINUTE, "minute"],
    [SECOND, "second"],
  ] as const;
  const [size, name] = units.find(([unit]) => ms >= unit) ?? [SECOND, "second"];
  const count = Math.floor(ms / size);
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] as const;

/**
 * Formats a number of bytes in units of powers of 1024: `0 B`, `1.5 KiB`, `12 MiB`. Values below ten are rounded to one
 * decimal, which is left out if it is 0. Other values are rounded to a whole number. Returns `unknown size` for a
 * number that is negative or not finite.
 */
export function formatBytes(bytes: number): string {
  if (!Number.isFinite(bytes) || bytes < 0) return "unknown size";
  let value = bytes;
  let unit = 0;
  while (unit < SIZES.length - 1 && Math.round(value) >= 1024) {
    value /= 1024;
    unit += 1;
  }
  const shown = unit === 0 || value >= 9.95 ? Math.round(value).toString() : value.toFixed(1).replace(/\.0$/, "");
  return `${shown} ${SIZES[unit]}`;
}
