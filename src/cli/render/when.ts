import { formatAgo } from "../../core/values/duration.ts";

/** Returns an ISO-8601 time as people say it: `3 min ago`. */
export function ago(iso: string | null, now: number): string {
  return iso === null ? "" : formatAgo(Date.parse(iso), now);
}
