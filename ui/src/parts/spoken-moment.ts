const MINUTE = 60_000;
const UNITS: readonly (readonly [name: RegExp, ms: number])[] = [
  [/^s(ec(ond)?s?)?$/, 1_000],
  [/^m(in(ute)?s?)?$/, MINUTE],
  [/^h((ou)?rs?)?$/, 60 * MINUTE],
  [/^d(ays?)?$/, 24 * 60 * MINUTE],
  [/^w(eeks?)?$/, 7 * 24 * 60 * MINUTE],
];

/**
 * Returns the time that a person means, in epoch milliseconds: `10m`, `10 minutes ago`, `an hour ago`, `14:05`,
 * `yesterday`, `yesterday 9:00`, `2026-01-31`, `2026-01-31 14:05`. Times are by the clock of this browser. A time of day
 * alone is the last one that has passed. Returns `undefined` for any other text, and for times in the future.
 */
export function spokenMoment(text: string, now: number): number | undefined {
  const said = text.trim().toLowerCase();
  const time = agoIn(said, now) ?? dayIn(said, now) ?? dateIn(said);
  return time === undefined || Number.isNaN(time) || time > now ? undefined : time;
}

function agoIn(said: string, now: number): number | undefined {
  const [, amount = "", unit = "", ago] = /^(\d{1,5}|an?)\s*([a-z]+)(\s+ago)?$/.exec(said) ?? [];
  const ms = UNITS.find(([name]) => name.test(unit))?.[1];
  if (ms === undefined || (ago === undefined && amount.startsWith("a"))) return undefined;
  return now - (amount.startsWith("a") ? 1 : Number(amount)) * ms;
}

function dayIn(said: string, now: number): number | undefined {
  const [whole, day = "", hour, minute] = /^(today|yesterday)?(?:,?\s*(?:at\s+)?(\d{1,2}):(\d\d))?$/.exec(said) ?? [];
  if (whole === undefined || whole === "") return undefined;
  const at = new Date(now);
  if (day === "yesterday") at.setDate(at.getDate() - 1);
  if (hour === undefined) return day === "today" ? at.setHours(0, 0, 0, 0) : at.getTime();
  if (Number(hour) > 23 || Number(minute) > 59) return undefined;
  at.setHours(Number(hour), Number(minute), 0, 0);
  if (day === "" && at.getTime() > now) at.setDate(at.getDate() - 1);
  return at.getTime();
}

function dateIn(said: string): number | undefined {
  const [, year, month, day, hour = "0", minute = "0"] =
    /^(\d{4})-(\d\d)-(\d\d)(?:[t ](\d\d):(\d\d))?$/.exec(said) ?? [];
  if (year === undefined) return undefined;
  const at = new Date(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute));
  return at.getMonth() === Number(month) - 1 && at.getDate() === Number(day) ? at.getTime() : undefined;
}
