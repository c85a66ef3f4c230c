import { inLocalZone } from "../../process/local-zone.ts";
import { usageError } from "../../process/usage-error.ts";

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** An expiry as ISO-8601, from `30m`, `12h`, `30d`, `4w` from now, or a date; `null`: never. Throws `USAGE`. */
export function expiryOf(text: string | undefined, now: number): string | null {
  if (text === undefined) return null;
  const [, count, unit = ""] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  const factor = UNITS_MS[unit];
  const at = factor === undefined ? Date.parse(inLocalZone(text)) : now + Number(count) * factor;
  const isDate = factor !== undefined || /^\d{4}-\d{2}-\d{2}/.test(text);
  if (!isDate || Number.isNaN(at)) throw usageError(`${text} is no time`, "as in --expires 12h, 30d or 2027-01-31");
  if (at <= now) throw usageError(`${text} is over already`, "say a later time");
  return new Date(at).toISOString();
}
