import { formatAgo } from "../../core/values/duration.ts";

/** Returns a number with its noun: `1 path`, `2,000 paths`. `many`: the plural, if it is not formed with `s`. */
export function counted(count: number, noun: string, many = `${noun}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? noun : many}`;
}

const UNDO_OF = "undo of ";

/**
 * Returns in words what the next `undo` takes back, given the operation that it undoes. That operation is itself an
 * undo if an undo of selected work was redone. The next `undo` then takes back the selected work, and not the undo.
 */
export function takenWords({ kind, summary }: { readonly kind: string; readonly summary: string }): string {
  return kind === "undo" && summary.startsWith(UNDO_OF) ? summary.slice(UNDO_OF.length) : summary;
}

/** Returns an ISO-8601 time relative to `now`: `3 min ago`. */
export function ago(iso: string | null, now: number): string {
  return iso === null ? "" : formatAgo(Date.parse(iso), now);
}
