import type { Json, RecordBody } from "../values/event.ts";
import type { Hash } from "../values/hash.ts";
import { damaged, hashOf, object, text } from "../values/record-fields.ts";

/**
 * Small files that git ignores, kept aside for some days. They are content of the class `private`. The record of the
 * session or action names one blob, which is a plan (`plan.ts`) of the change to each path. Only the plan names the
 * contents. Therefore, the log has no hash of a short secret, no replica receives the contents, and no reader sees
 * them.
 */
export interface Aside {
  /**
   * A blob with the changes that the session or action made to the paths. While the session or action is open, the plan
   * lists each path as removed.
   */
  readonly plan: Hash;
  /** The time until which the plan and its contents are kept. */
  readonly until: string;
}

export const ASIDE_MS = 7 * 24 * 3_600_000;

export function encodeAside({ plan, until }: Aside): Json {
  return { class: "private", plan, until };
}

/** Returns `undefined` if the record lacks the field. Throws `LOG_DAMAGED` if the field is invalid. */
export function decodeAside(body: RecordBody): Aside | undefined {
  if (body["aside"] === undefined) return undefined;
  const aside = object(body["aside"], "aside");
  if (text(aside, "class") !== "private") damaged("what is kept aside is not of the class private");
  return { plan: hashOf(aside, "plan"), until: text(aside, "until") };
}

/** Returns true if the contents must still be kept at this time (ms since the epoch). */
export function isKeptAt({ until }: Aside, now: number): boolean {
  return Date.parse(until) > now;
}
