import { canonicalJson, parseCanonical } from "../values/canonical-json.ts";
import { isTimestamp } from "./chain.ts";
import type { Head, RecordBody } from "../values/event.ts";
import { isHash, sha256, type Hash } from "../values/hash.ts";
import { LogTree } from "./log-tree.ts";
import { damaged, hashOf, object, text, texts, whole } from "../values/record-fields.ts";

/**
 * The start of a copy that lacks the first events of its history. The copy begins after the event `seq`, with a base
 * that has the state after this event. The anchor proves nothing about earlier events. The verification of later events
 * begins at the anchor.
 */
export interface HistoryAnchor extends Head {
  readonly hash: Hash;
  readonly workspace: string;
  /** The time of the workspace's record in the base, in ISO 8601 UTC. */
  readonly ts: string;
  /** The Merkle root of the files after the event `seq`. */
  readonly root: Hash;
  /** The hash of the base with the state after the event `seq` (`base-format.ts`). */
  readonly base: Hash;
  /** The frontier of the log tree after the event `seq` (`log-tree.ts`). */
  readonly frontier: readonly Hash[];
  /**
   * True if an earlier version wrote the anchor without a checksum. Nothing proves that the frontier of such an anchor
   * is unaltered.
   */
  readonly isUnchecked?: boolean;
}

/**
 * Encodes an anchor as the content of `anchor.json`. The content has a checksum, because nothing else protects some of
 * the fields.
 */
export function encodeAnchor({ workspace, seq, hash, ts, root, base, frontier }: HistoryAnchor): string {
  const body: RecordBody = { workspace, seq, hash, ts, root, base, frontier };
  return `${canonicalJson({ ...body, checksum: checksumOf(body) })}\n`;
}

/**
 * Decodes an anchor, including one that an earlier version wrote without a checksum. Throws `LOG_DAMAGED` for an
 * invalid field or a wrong checksum. Throws `INTEGRITY_VIOLATION` for a text that is not canonical JSON, and for a
 * frontier that does not fit the seq.
 */
export function decodeAnchor(file: string): HistoryAnchor {
  const unchecked = uncheckedIn(file);
  if (unchecked !== undefined) return { ...unchecked, isUnchecked: true };
  if (!file.endsWith("\n")) damaged("it does not end with a newline");
  const { checksum, ...body } = object(parseCanonical(file.slice(0, -1)), "an anchor");
  if (checksum !== checksumOf(body)) damaged("its checksum is wrong");
  return fieldsOf(body);
}

/**
 * Returns the anchor if an earlier version wrote the file; `undefined` for any other file. That version wrote anchors
 * with a fixed field order and without a checksum.
 */
function uncheckedIn(file: string): HistoryAnchor | undefined {
  if (!file.startsWith('{"workspace":')) return undefined;
  try {
    const { workspace, seq, hash, ts, root, base, frontier } = fieldsOf(JSON.parse(file) as RecordBody);
    const isExact = `${JSON.stringify({ workspace, seq, hash, ts, root, base, frontier })}\n` === file;
    return isExact ? { workspace, seq, hash, ts, root, base, frontier } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function fieldsOf(body: RecordBody): HistoryAnchor {
  const frontier = texts(body, "frontier").map((one) =>
    isHash(one) ? one : damaged("frontier holds something other than hashes"),
  );
  const seq = whole(body, "seq");
  if (seq < 1) damaged("seq is less than 1");
  const [workspace, ts] = [text(body, "workspace"), text(body, "ts")];
  if (!isTimestamp(ts)) damaged("ts is not a time");
  // The constructor throws if the frontier has the wrong length for this number of events.
  void new LogTree(frontier, seq);
  return {
    workspace,
    seq,
    hash: hashOf(body, "hash"),
    ts,
    root: hashOf(body, "root"),
    base: hashOf(body, "base"),
    frontier,
  };
}

function checksumOf(body: RecordBody): Hash {
  return sha256(canonicalJson(body));
}
