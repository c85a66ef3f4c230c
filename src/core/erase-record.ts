import type { RecordBody } from "./event.ts";
import { isHash, type Hash } from "./hash.ts";
import { damaged, object, optionalText, orNull, text, texts } from "./record-fields.ts";

/** What the ids of records of erasures begin with. */
export const ERASE = "erase:";

/** What somebody asked to have erased: one of these. */
export interface EraseAsked {
  readonly path?: string;
  readonly content?: Hash;
  readonly match?: string;
}

/**
 * `erase:<id>`: contents that may be gone from the store, and who said so. No line is removed: the lines that name these contents
 * keep their hashes, and prove the history as before.
 */
export interface EraseRecord {
  /** `withdrawn`: it was taken back in time, and licenses nothing. */
  readonly state: "erased" | "withdrawn";
  /** Ascending. */
  readonly contents: readonly Hash[];
  readonly asked: EraseAsked;
  readonly reason: string | undefined;
  readonly actor: string;
  readonly at: string;
  /** The bytes are kept until then. */
  readonly until: string;
}

/** An erase record as JSON. */
export function encodeErase({ state, contents, asked, reason, actor, at, until }: EraseRecord): RecordBody {
  return {
    actor: actor.toWellFormed(),
    asked: { ...asked },
    at,
    contents: [...contents],
    reason: reason?.toWellFormed() ?? null,
    state,
    until,
  };
}

/** The erase record in a body. Throws `LOG_DAMAGED`. */
export function decodeErase(body: RecordBody): EraseRecord {
  const contents = texts(body, "contents").map((one) => (isHash(one) ? one : damaged("contents holds no hash")));
  if (contents.some((hash, i) => hash <= (contents[i - 1] ?? ""))) damaged("contents is not in order");
  const state = text(body, "state");
  if (state !== "erased" && state !== "withdrawn") damaged(`state is ${state}`);
  const until = text(body, "until");
  if (Number.isNaN(Date.parse(until))) damaged("until is no time");
  return {
    state: state === "withdrawn" ? state : "erased",
    contents,
    asked: decodeAsked(object(body["asked"], "asked")),
    reason: orNull(body, "reason", text) ?? undefined,
    actor: text(body, "actor"),
    at: text(body, "at"),
    until,
  };
}

function decodeAsked(body: RecordBody): EraseAsked {
  const [path, match] = [optionalText(body, "path"), optionalText(body, "match")];
  const content = optionalText(body, "content");
  if (content !== undefined && !isHash(content)) damaged("asked names no hash");
  return {
    ...(path === undefined ? {} : { path }),
    ...(content === undefined ? {} : { content: content as Hash }),
    ...(match === undefined ? {} : { match }),
  };
}
