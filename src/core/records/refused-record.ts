import type { RecordBody } from "../values/event.ts";
import { text } from "../values/record-fields.ts";

/** The beginning of the ids of refused records. */
export const REFUSED = "refused:";

/** `refused:<id>`: an agent tried something that only a person may do. */
export interface RefusedRecord {
  /** The operation: `prune`, `gc` … */
  readonly what: string;
  readonly actor: string;
  /** The time of the attempt, in ISO 8601 UTC. */
  readonly at: string;
  /**
   * Details of the attempt as JSON, such as its arguments. Secrets are masked, and the text is cut off after 500
   * characters.
   */
  readonly detail: string;
}

export function encodeRefused({ what, actor, at, detail }: RefusedRecord): RecordBody {
  return { what: what.toWellFormed(), actor: actor.toWellFormed(), at, detail: detail.toWellFormed() };
}

/** Decodes the record of a refused attempt. Throws `LOG_DAMAGED` if the record is invalid. */
export function decodeRefused(body: RecordBody): RefusedRecord {
  return { what: text(body, "what"), actor: text(body, "actor"), at: text(body, "at"), detail: text(body, "detail") };
}
