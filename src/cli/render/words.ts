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
  return kind === "undo" && summary.startsWith(UNDO_OF) ? summary.slice(UNDO_OF.length) : summary;
}

/**
 * Returns the minute of an ISO-8601 time in UTC. The zone `Z` is added, because a time without a zone would be read as
 * the user's local time.
 */
export function minuteOf(iso: string): string {
  return `${iso.slice(0, "2026-01-31T09:30".length)}Z`;
}

/** Returns an ISO-8601 time relative to `now`: `3 min ago`. */
export function ago(iso: string | null, now: number): string {
  return iso === null ? "" : formatAgo(Date.parse(iso), now);
}
