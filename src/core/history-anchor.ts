import type { Head, RecordBody } from "./event.ts";
import { isHash, type Hash } from "./hash.ts";
import { damaged, hashOf, text, texts, whole } from "./record-fields.ts";

/**
 * Where a copy of a history starts that does not have it from its first event on: behind an event, on a base with the state
 * there. Nothing of what was before can be proved with it; all that follows goes on from it.
 */
export interface HistoryAnchor extends Head {
  readonly hash: Hash;
  /** The workspace whose history it is. */
  readonly workspace: string;
  /** When it was taken: ISO-8601 UTC. */
  readonly ts: string;
  /** The Merkle root of the files after the event. */
  readonly root: Hash;
  /** The base with that state (`base-format.ts`). */
  readonly base: Hash;
  /** Of the log tree after the event (`log-tree.ts`). */
  readonly frontier: readonly Hash[];
}

/** An anchor as JSON. */
export function encodeAnchor({ workspace, seq, hash, ts, root, base, frontier }: HistoryAnchor): RecordBody {
  return { workspace, seq, hash, ts, root, base, frontier };
}

/** The anchor in a body. Throws `LOG_DAMAGED`. */
export function decodeAnchor(body: RecordBody): HistoryAnchor {
  const frontier = texts(body, "frontier").map((one) => (isHash(one) ? one : damaged("frontier holds no hash")));
  const seq = whole(body, "seq");
  if (seq < 1) damaged("seq is no event");
  const [workspace, ts] = [text(body, "workspace"), text(body, "ts")];
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
