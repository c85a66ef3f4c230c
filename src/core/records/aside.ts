import type { Json, RecordBody } from "../values/event.ts";
import type { Hash } from "../values/hash.ts";
import { damaged, hashOf, object, text } from "../values/record-fields.ts";

/**
 * Small files that git ignores, kept aside for some days: content of the class `private`. The record names one blob, a plan
 * (`plan.ts`) of what became of each path; the contents are named only there. So the log holds no hash of a short secret,
 * no replica is given any of it, and no reader sees it.
 */
export interface Aside {
  /** Blob: what the session or action did to the paths; while it goes on, as if it had removed all of them. */
  readonly plan: Hash;
  /** Until then the plan and its contents are kept. */
  readonly until: string;
}

/** The time for which it is kept. */
export const ASIDE_MS = 7 * 24 * 3_600_000;

/** As a record's field. */
export function encodeAside({ plan, until }: Aside): Json {
  return { class: "private", plan, until };
}

/** Decodes a record's field `aside`; `undefined` where there is none. Throws `LOG_DAMAGED`. */
export function decodeAside(body: RecordBody): Aside | undefined {
  if (body["aside"] === undefined) return undefined;
  const aside = object(body["aside"], "aside");
  if (text(aside, "class") !== "private") damaged("what is kept aside is not of the class private");
  return { plan: hashOf(aside, "plan"), until: text(aside, "until") };
}

/** Is it still to be kept at this time (ms since the epoch)? */
export function isKeptAt({ until }: Aside, now: number): boolean {
  return Date.parse(until) > now;
}
