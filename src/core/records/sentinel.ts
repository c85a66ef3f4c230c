import { ChronicleError } from "../values/errors.ts";
import type { Head, LogEvent, RecordBody } from "../values/event.ts";
import { isHash, type Hash } from "../values/hash.ts";
import { LogTree } from "../log/log-tree.ts";
import { damaged, flag, hashOf, list, object, whole } from "../values/record-fields.ts";
import { decodeWorkspace, encodeWorkspace, type WorkspaceRecord } from "./workspace-record.ts";

/**
 * The sentinel: the first event of a log that continues after a compaction (`docs/format.md`, "Compaction"). The
 * sentinel summarises the previous events, so that the history can continue without them.
 */
export interface Sentinel {
  /** The hash of the base with which the history can start at this event. */
  readonly base: Hash;
  /** The Merkle root of the files before and after this event, which changes no file. */
  readonly root: Hash;
  /** The first and last seq of the log that the compaction sealed. */
  readonly range: readonly [first: number, last: number];
  /** The hash of the previous event. */
  readonly head: Hash;
  /** The number of previous events, which is the size of the log tree. */
  readonly size: number;
  /** The frontier of that log tree: the roots of its perfect subtrees. */
  readonly frontier: readonly Hash[];
  /** A copy of the workspace's record, so that the folders of the workspace are known without reading the base. */
  readonly workspace: WorkspaceRecord;
  /** True if the previous events were removed on purpose. The absence of these events is then not damage. */
  readonly dropsArchive: boolean;
}

/**
 * Returns the record id of a sentinel. The id names the workspace, so that the log of one workspace cannot be mistaken
 * for the log of another.
 */
export function sentinelId(workspaceId: string): string {
  return `compact:${workspaceId}`;
}

export function encodeSentinel(sentinel: Sentinel): RecordBody {
  const { dropsArchive, workspace, ...rest } = sentinel;
  return { ...rest, drops_archive: dropsArchive, workspace: encodeWorkspace(workspace) } as RecordBody;
}

/**
 * Decodes the sentinel in an event. Throws `LOG_DAMAGED` if a field is missing or malformed. Throws
 * `INTEGRITY_VIOLATION` if the fields do not match the event:
 * - `head` must be the event's `prev_hash`.
 * - `size` must be the event's seq − 1.
 * - `range` must begin at an event from 1 to `size`, and end at `size`.
 * - `frontier` must have the length for `size` events.
 */
export function decodeSentinel(event: LogEvent): Sentinel {
  const { record } = event;
  const range = list(record, "range");
  const [first, last] = range;
  if (range.length !== 2 || typeof first !== "number" || typeof last !== "number") damaged("range is not two seqs");
  const frontier = list(record, "frontier").map((item) =>
    typeof item === "string" && isHash(item) ? item : damaged("frontier holds something else than hashes"),
  );
  const sentinel: Sentinel = {
    base: hashOf(record, "base"),
    root: hashOf(record, "root"),
    range: [first, last],
    head: hashOf(record, "head"),
    size: whole(record, "size"),
    frontier,
    workspace: decodeWorkspace(object(record["workspace"], "workspace")),
    dropsArchive: flag(record, "drops_archive"),
  };
  checkPlace(event, sentinel);
  return sentinel;
}

function checkPlace(event: LogEvent, { head, size, range, frontier }: Sentinel): void {
  const refuse = (reason: string): never => {
    throw new ChronicleError("INTEGRITY_VIOLATION", `the sentinel ${event.seq} does not fit its place: ${reason}`);
  };
  if (head !== event.prevHash) refuse(`its head is ${head}, its prev_hash ${event.prevHash}`);
  if (size !== event.seq - 1) refuse(`its size is ${size}`);
  if (range[1] !== size || range[0] < 1 || range[0] > size) refuse(`its range is ${range.join("..")}`);
  // The constructor throws if the frontier has the wrong length for this number of events.
  new LogTree(frontier, size);
}

/** Returns the head before an event. For event 1, this is the empty head: seq 0 and hash `""`. */
export function headBefore(event: LogEvent): Head {
  return event.prevHash === "" ? { seq: 0, hash: "" } : { seq: event.seq - 1, hash: event.prevHash };
}
