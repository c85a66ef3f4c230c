import { isTimestamp } from "../log/chain.ts";
import type { Json, RecordBody } from "../values/event.ts";
import { decodePath, encodePath } from "../values/file-record.ts";
import { isHash, type Hash } from "../values/hash.ts";
import type { WorkspacePath } from "../values/path.ts";
import { damaged, hashOf, list, object, optionalText, orNull, text, texts, whole } from "../values/record-fields.ts";
import { decodeRanges, type SeqRanges } from "../values/seq-ranges.ts";
import { optional } from "../../util/optional.ts";

/** The prefix of the ids of erase records. */
export const ERASE = "erase:";

/**
 * The contents to erase, as the caller named them: by a path, by a hash, or by a pattern as in a `.gitignore`. Exactly
 * one of the fields is set.
 */
export interface EraseAsked {
  readonly path?: string;
  readonly content?: Hash;
  readonly match?: string;
}

/**
 * `erase:<id>`: an erasure. The record lists the contents that may therefore be missing from the store. An erasure
 * removes no line of the log. The lines that name these contents keep their hashes, and prove the history as before.
 */
export interface EraseRecord {
  /**
   * `erased`: the erasure is in force. `withdrawn`: the erasure was withdrawn within the grace period, and no longer
   * permits any content to be missing.
   */
  readonly state: "erased" | "withdrawn";
  /** The hashes of the contents, ascending. */
  readonly contents: readonly Hash[];
  /**
   * Contents that were kept aside and may also be missing. Each is named by its plan and path, because only plans may
   * have the hashes of such contents. Default: none.
   */
  readonly aside?: readonly ErasedAside[];
  readonly asked: EraseAsked;
  readonly reason: string | undefined;
  readonly actor: string;
  /** The time of the erasure, in ISO 8601 UTC. */
  readonly at: string;
  /**
   * The time, in ISO 8601 UTC, until which the bytes are kept. If the caller asked for no grace period (`now`), this is
   * the time of the erasure.
   */
  readonly until: string;
  /**
   * Ranges of events. Each of these events ended the recording of a path, because a content of the path was erased. The
   * ranges cover only the earlier commits of this erasure, not the commit that contains this record. The files of these
   * paths stay on disk. Default: none.
   */
  readonly untracked?: SeqRanges;
  /** The origin's erasure that this erasure follows. Set only in a folder that follows an origin. */
  readonly upstream?: UpstreamErasure;
}

/** The paths of a plan whose kept-aside contents are erased. */
export interface ErasedAside {
  readonly plan: Hash;
  readonly paths: readonly WorkspacePath[];
}

/** An event of an origin that erases contents or withdraws an erasure. `origin` is the id of the origin's workspace. */
export interface UpstreamErasure {
  readonly origin: string;
  readonly seq: number;
}

export function encodeErase(record: EraseRecord): RecordBody {
  const { state, contents, aside = [], asked, reason, actor, at, until, untracked = [], upstream } = record;
  return {
    actor: actor.toWellFormed(),
    ...(aside.length === 0 ? {} : { aside: aside.map(encodeErasedAside) }),
    asked: { ...asked },
    at,
    contents: [...contents],
    reason: reason?.toWellFormed() ?? null,
    state,
    until,
    ...(untracked.length === 0 ? {} : { untracked: untracked.map(([first, last]) => [first, last]) }),
    ...(upstream === undefined ? {} : { upstream: { origin: upstream.origin, seq: upstream.seq } }),
  };
}

function encodeErasedAside({ plan, paths }: ErasedAside): Json {
  return { paths: paths.map(encodePath), plan };
}

/** Decodes an erase record. Throws `LOG_DAMAGED` if it is invalid. */
export function decodeErase(body: RecordBody): EraseRecord {
  const contents = texts(body, "contents").map((one) =>
    isHash(one) ? one : damaged("contents holds something other than hashes"),
  );
  if (contents.some((hash, i) => hash <= (contents[i - 1] ?? ""))) damaged("contents is not in order");
  const state = text(body, "state");
  if (state !== "erased" && state !== "withdrawn") damaged(`state is ${state}`);
  const until = text(body, "until");
  if (!isTimestamp(until)) damaged("until is not a time");
  return {
    state: state === "withdrawn" ? state : "erased",
    contents,
    ...(body["aside"] === undefined ? {} : { aside: list(body, "aside").map(decodeErasedAside) }),
    asked: decodeAsked(object(body["asked"], "asked")),
    reason: orNull(body, "reason", text) ?? undefined,
    actor: text(body, "actor"),
    at: text(body, "at"),
    until,
    ...(body["untracked"] === undefined ? {} : { untracked: decodeRanges(body["untracked"]) }),
    ...(body["upstream"] === undefined ? {} : { upstream: decodeUpstream(object(body["upstream"], "upstream")) }),
  };
}

function decodeErasedAside(value: Json): ErasedAside {
  const body = object(value, "aside");
  const paths = list(body, "paths").map((one) => decodePath(object(one, "a path")));
  return { plan: hashOf(body, "plan"), paths };
}

function decodeUpstream(body: RecordBody): UpstreamErasure {
  return { origin: text(body, "origin"), seq: whole(body, "seq") };
}

function decodeAsked(body: RecordBody): EraseAsked {
  const [path, match] = [optionalText(body, "path"), optionalText(body, "match")];
  const content = optionalText(body, "content");
  if (content !== undefined && !isHash(content)) damaged("content in asked is not a hash");
  const given = [path, match, content].filter((one) => one !== undefined);
  if (given.length !== 1) damaged("asked has not exactly one of path, content and match");
  return {
    ...optional({ path }),
    ...(content === undefined ? {} : { content: content as Hash }),
    ...optional({ match }),
  };
}
