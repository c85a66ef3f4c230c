import { ChronicleError } from "../values/errors.ts";
import type { LogEvent, RecordBody } from "../values/event.ts";
import { isHash, type Hash } from "../values/hash.ts";
import { LogTree } from "../log/log-tree.ts";
import { damaged, hashOf, list, text, whole } from "../values/record-fields.ts";

/** `compact:<store id>`: the first event of the log with which a record store continues after a compaction. */
export interface RecordSentinel {
  /** The hash of the file `bases/<base>.json`, which has the state after the previous event. */
  readonly base: Hash;
  /** The first and last seq of the log that the compaction sealed. */
  readonly range: readonly [first: number, last: number];
  /** The hash of the previous event. */
  readonly head: Hash;
  /** The number of previous events, which is the size of the log tree. */
  readonly size: number;
  /** The frontier of that log tree: the roots of its perfect subtrees. */
  readonly frontier: readonly Hash[];
  readonly store: string;
}

export function encodeRecordSentinel(sentinel: RecordSentinel): RecordBody {
  return { ...sentinel };
}

/**
 * Decodes the sentinel in an event. Throws `LOG_DAMAGED` if a field is missing or malformed, and `INTEGRITY_VIOLATION`
 * if the fields do not match the event.
 */
export function decodeRecordSentinel(event: LogEvent): RecordSentinel {
  const { record } = event;
  const range = list(record, "range");
  const [first, last] = range;
  if (range.length !== 2 || typeof first !== "number" || typeof last !== "number") damaged("range is not two seqs");
  const sentinel: RecordSentinel = {
    base: hashOf(record, "base"),
    range: [first, last],
    head: hashOf(record, "head"),
    size: whole(record, "size"),
    frontier: list(record, "frontier").map((one) =>
      typeof one === "string" && isHash(one) ? one : damaged("frontier holds something else than hashes"),
    ),
    store: text(record, "store"),
  };
  const { size, head, frontier } = sentinel;
  const fits =
    head === event.prevHash &&
    size === event.seq - 1 &&
    last === size &&
    first >= 1 &&
    first <= size &&
    event.recordId === `compact:${sentinel.store}`;
  if (!fits) throw new ChronicleError("INTEGRITY_VIOLATION", `the sentinel ${event.seq} does not fit its place`);
  // The constructor throws if the frontier has the wrong length for this number of events.
  new LogTree(frontier, size);
  return sentinel;
}
