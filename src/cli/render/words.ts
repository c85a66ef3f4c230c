import { formatAgo } from "../../core/values/duration.ts";
import { groupedDigits } from "../../util/grouped-digits.ts";

/** Returns a number with its noun: `1 path`, `2,000 paths`. `many`: the plural, if it is not formed with `s`. */
export function counted(count: number, noun: string, many = `${noun}s`): string {
  return `${groupedDigits(count)} ${count === 1 ? noun : many}`;
}

const UNDO_OF = "undo of ";

/**
 * Returns words for the work that the next `undo` undoes. The argument is the operation on which that `undo` acts. For
 * the operation `undo of X`, which a `redo` has inverted, the result is `X`: the next `undo` inverts the `redo`, and so
 * undoes `X` again.
 */
export function takenWords({ kind, summary }: { readonly kind: string; readonly summary: string }): string {
  const words = withoutRepeats(summary);
  return kind === "undo" && words.startsWith(UNDO_OF) ? words.slice(UNDO_OF.length) : words;
}

const REPEATED = /^((?:(?:undo|redo) of )+)(restore|undo|redo): (?=\2 )/;

/**
 * Returns the summary of an undo or a redo, with the kind of the inverted operation named once: `undo of restore to
 * snapshot 2` for `undo of restore: restore to snapshot 2`.
 */
export function withoutRepeats(summary: string): string {
  const words = summary.replace(REPEATED, "$1");
  return words === summary ? summary : withoutRepeats(words);
}

/**
 * Returns an ISO-8601 time in UTC without its seconds, such as `2026-01-31T09:30Z`. The zone `Z` is added, because a
 * time without a zone would be read as the user's local time.
 */
export function minuteOf(iso: string): string {
  return `${iso.slice(0, "2026-01-31T09:30".length)}Z`;
}

/** Returns an ISO-8601 time relative to `now`: `3 min ago`. */
export function ago(iso: string | null, now: number): string {
  return iso === null ? "" : formatAgo(Date.parse(iso), now);
}

const SHORT_UNITS: Readonly<Record<string, string>> = { second: "s", minute: "min", hour: "h", month: "mo" };

/** Returns the same text as `ago`, shortened to at most 11 characters: `3 min ago`, `2 h ago`, `4 weeks ago`. */
export function shortAgo(iso: string | null, now: number): string {
  const words = ago(iso, now).replace("at an unknown time", "unknown");
  return words.replace(/\b(second|minute|hour|month)s?\b/, (_, unit: string) => SHORT_UNITS[unit] ?? unit);
}
