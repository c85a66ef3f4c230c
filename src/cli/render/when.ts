import { formatAgo } from "../../core/values/duration.ts";

/** A time of a shape (ISO-8601) as people say it: `3 min ago`. */
export function ago(iso: string | null, now: number): string {
  return iso === null ? "" : formatAgo(Date.parse(iso), now);
}
