import type { Json, RecordBody } from "../values/event.ts";
import type { Hash } from "../values/hash.ts";
import { damaged, hashOf, object, text } from "../values/record-fields.ts";

/**
 * The files that were kept aside for a session or action, mostly small files that git ignores. Their contents have the
 * class `private`, and are kept for `ASIDE_MS`.
 *
 * The record of the session or action names one blob, which is a plan (`plan.ts`) with the change of each path. Only
 * this plan names the contents. Therefore, the log has no hash from which a short secret could be guessed. No replica
 * receives the contents, and no reader sees them.
 */
export interface Aside {
  /**
   * The hash of the plan, which has the changes that the session or action made to the paths. While the session or
   * action is open, these changes are not known yet. Until they are known, the plan lists each path as removed.
   */
  readonly plan: Hash;
  /** The time, in ISO 8601, until which the plan and its contents are kept. */
  readonly until: string;
}

/** The time, in ms, for which files are kept aside: seven days. */
export const ASIDE_MS = 7 * 24 * 3_600_000;

export function encodeAside({ plan, until }: Aside): Json {
  return { class: "private", plan, until };
}

/**
 * Decodes the field of a record that names a private plan: `aside` for files that were kept aside, `git` for the state
 * of git. Returns `undefined` if the record lacks the field. Throws `LOG_DAMAGED` if the field is invalid.
 */
export function decodeAside(body: RecordBody, field: "aside" | "git" = "aside"): Aside | undefined {
  if (body[field] === undefined) return undefined;
  const aside = object(body[field], field);
  if (text(aside, "class") !== "private") damaged("what is kept aside is not of the class private");
  return { plan: hashOf(aside, "plan"), until: text(aside, "until") };
}

/** Returns true if the contents must still be kept at the time `now` (ms since the epoch). */
export function isKeptAt({ until }: Aside, now: number): boolean {
  return Date.parse(until) > now;
}
