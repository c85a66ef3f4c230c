import type { DirectionalFilter } from "../filter/directional-filter.ts";
import type { Entry } from "../values/entry.ts";
import type { Hash } from "../values/hash.ts";
import type { WorkspacePath } from "../values/path.ts";
import type { EventDraft, Json, RecordBody } from "../values/event.ts";
import { decodePath, decodeState, encodePath, encodeState } from "../values/file-record.ts";
import { damaged, hashOf, list, object, optionalText, text, whole } from "../values/record-fields.ts";
import { optional } from "../../util/optional.ts";

/** A change of a replica, as the origin receives it. */
export interface WriteBackEntry {
  /**
   * The seq of the entry's event in the replica's own log, which identifies the entry. If an entry that was already
   * decided is sent again, the origin does not carry it out again. The origin repeats its answer, if the answer is
   * still known.
   */
  readonly localSeq: number;
  /**
   * The hash of the entry's event in the replica's own log. An event with the same `localSeq` and another hash belongs
   * to another history of the replica.
   */
  readonly eventHash?: Hash;
  readonly path: WorkspacePath;
  /** The state; `undefined` for a deletion. */
  readonly entry: Entry | undefined;
  /**
   * The origin's event of this path on which the change is based, as a seq; 0 if the replica has seen no event of the
   * path.
   */
  readonly seen: number;
  readonly actor: string;
  readonly session?: string;
  readonly turn?: string;
  readonly action?: string;
}

/** Entries of one replica that are decided together, sorted by `localSeq`. */
export interface WriteBackBatch {
  readonly replica: string;
  /**
   * The last event of the origin that was sent to the replica, or that the replica has proved to have. The replica
   * cannot have seen later events of the origin.
   */
  readonly acknowledged: number;
  /**
   * The `localSeq` of the replica's last decided entry, as known to the connection that received this batch. If the
   * origin's history has a different last decided entry, another program has written under this replica's id. In this
   * case, the batch is refused, unless it contains the last decided entry of the history. If `after` is omitted, the
   * last decided entry is not checked.
   */
  readonly after?: number;
  readonly entries: readonly WriteBackEntry[];
  /**
   * The hashes of contents that the replica could not send. These contents are treated as missing even if the store has
   * them. Otherwise, a replica could get access to contents of other people by naming the hashes of these contents.
   * Default: none.
   */
  readonly missing?: ReadonlySet<Hash>;
}

/** The limits on what replicas may write back. */
export interface WriteBackRules {
  /** The filter of the direction `from-replica`. Default: none. */
  readonly filter?: DirectionalFilter;
  /** The maximum size, in bytes, of a content that is accepted. Default: no maximum. */
  readonly maxBytes?: number;
}

/**
 * The reason why an entry was rejected, as in the protocol (docs/protocol.md). An entry that was rejected as
 * `unavailable` must be sent again.
 */
export type WriteBackReason =
  | "stale"
  | "causal-lie"
  | "hash-mismatch"
  | "path"
  | "filtered"
  | "read-only"
  | "too-large"
  | "content-missing"
  | "erased"
  | "unavailable";

export interface AcceptedEntry {
  readonly localSeq: number;
  /** The present iteration of the path, and the event that recorded it. Both are 0 if the path never existed. */
  readonly iteration: number;
  readonly sequence: number;
}

export interface RejectedEntry {
  readonly localSeq: number;
  readonly reason: WriteBackReason;
  /**
   * The seq of the event that caused the rejection, if there is such an event. This event is the last event of the
   * path, of a path beneath the path, or of another path that is in the way.
   */
  readonly currentSequence?: number;
  /**
   * Set if the replica itself rejected the entry, without sending the entry. The origin does not know such an entry.
   */
  readonly unheard?: true;
  /**
   * Set if the origin keeps the rejected state as a version (`VersionRecord`). The hash is `null` for a deletion or a
   * folder.
   */
  readonly kept?: { readonly contentHash: Hash | null };
}

/**
 * The answers to some entries. Each list is sorted by `localSeq`. The answer to an entry that was decided long ago may
 * be unknown. Such an entry is settled, but is in neither list.
 */
export interface WriteBackAnswer {
  readonly accepted: readonly AcceptedEntry[];
  readonly rejected: readonly RejectedEntry[];
}

/** The progress of a replica's write-backs, as the origin knows it. */
export interface SettledWriteBack {
  /** The last decided entry; 0 if there is none. */
  readonly upTo: number;
  /** The hash of that entry's event in the replica's own log, if it is known. */
  readonly hash?: Hash;
  /** The answers to the replica's last batch, for a replica that never received them. */
  readonly last: WriteBackAnswer;
}

/**
 * `writeback:<replica>`: the last entry of a replica that was answered, and the answers to the last batch. If the
 * replica sends this batch again, the replica gets the same answers. The record is written in the commit that records
 * the accepted entries.
 */
export interface WriteBackRecord extends WriteBackAnswer {
  /** The `localSeq` of the last entry that was answered. */
  readonly settled: number;
  /** The hash of that entry's event in the replica's own log. Omitted if it is unknown. */
  readonly hash?: Hash;
  /**
   * The `localSeq` of each deletion that was rejected because its path is a folder that is not empty. Such a deletion
   * is kept as a version. If the replica's next batch deletes everything in the folder, the folder is deleted, too.
   * Empty if there are no such deletions.
   */
  readonly going: readonly number[];
}

export function writeBackRecordId(replica: string): string {
  return `writeback:${replica}`;
}

/** Encodes a write-back record. An accepted entry is encoded as `[local_seq, iteration, sequence]`. */
function encodeWriteBack({ settled, hash, accepted, rejected, going }: WriteBackRecord): RecordBody {
  return {
    settled,
    ...optional({ hash }),
    accepted: accepted.map(({ localSeq, iteration, sequence }) => [localSeq, iteration, sequence]),
    rejected: rejected.map(({ localSeq, reason, currentSequence, kept }) => ({
      local_seq: localSeq,
      reason,
      ...optional({ current_sequence: currentSequence }),
      ...(kept === undefined ? {} : { kept: { content_hash: kept.contentHash } }),
    })),
    ...(going.length === 0 ? {} : { going }),
  };
}

/** Decodes a write-back record. Throws `LOG_DAMAGED` if it is invalid. */
export function decodeWriteBack(body: RecordBody): WriteBackRecord {
  return {
    settled: whole(body, "settled"),
    ...(body["hash"] === undefined ? {} : { hash: hashOf(body, "hash") }),
    accepted: list(body, "accepted").map(decodeAccepted),
    rejected: list(body, "rejected").map((item) => decodeRejected(object(item, "a rejected entry"))),
    going: body["going"] === undefined ? [] : list(body, "going").map(decodeGoing),
  };
}

function decodeAccepted(item: Json): AcceptedEntry {
  const [localSeq, iteration, sequence, ...more] = Array.isArray(item) ? (item as readonly Json[]) : [];
  const isWhole = [localSeq, iteration, sequence].every((one) => Number.isSafeInteger(one));
  if (!isWhole || more.length > 0) return damaged("an accepted entry is not three whole numbers");
  return { localSeq, iteration, sequence } as AcceptedEntry;
}

function decodeGoing(item: Json): number {
  return Number.isSafeInteger(item) ? (item as number) : damaged("going holds something else than whole numbers");
}

function decodeRejected(body: RecordBody): RejectedEntry {
  const kept = body["kept"] === undefined ? undefined : object(body["kept"], "kept");
  return {
    localSeq: whole(body, "local_seq"),
    reason: text(body, "reason") as WriteBackReason,
    ...(body["current_sequence"] === undefined ? {} : { currentSequence: whole(body, "current_sequence") }),
    ...(kept === undefined
      ? {}
      : { kept: { contentHash: kept["content_hash"] === null ? null : hashOf(kept, "content_hash") } }),
  };
}

/**
 * `version:<replica>:<local_seq>`: a state that a replica gave to a path. This state did not become the path's state at
 * the origin, because somebody else had changed the path. The content of the state is kept like other contents of the
 * history.
 */
export interface VersionRecord {
  readonly replica: string;
  readonly localSeq: number;
  readonly path: WorkspacePath;
  /** The state; `undefined` if the replica had deleted the path. */
  readonly entry: Entry | undefined;
  /** The origin's event of the path on which the replica's state was based; 0 if there was none. */
  readonly seen: number;
  /** The last event of the path when the version arrived; 0 if there was none. */
  readonly against: number;
  readonly actor: string;
  readonly session?: string;
  readonly turn?: string;
  readonly action?: string;
}

export function versionRecordId({ replica, localSeq }: Pick<VersionRecord, "replica" | "localSeq">): string {
  return `version:${replica}:${localSeq}`;
}

const WHOSE = ["session", "turn", "action"] as const;

function encodeVersion(record: VersionRecord): RecordBody {
  const body: Record<string, Json> = {
    ...encodePath(record.path),
    replica: record.replica,
    local_seq: record.localSeq,
    state: encodeState(record.entry),
    seen: record.seen,
    against: record.against,
    actor: record.actor.toWellFormed(),
  };
  for (const key of WHOSE) {
    const value = record[key];
    if (value !== undefined) body[key] = value.toWellFormed();
  }
  return body;
}

/** Decodes a version record. Throws `LOG_DAMAGED` if it is invalid. */
export function decodeVersion(body: RecordBody): VersionRecord {
  const path = decodePath(body);
  const whose: { session?: string; turn?: string; action?: string } = {};
  for (const key of WHOSE) {
    const value = optionalText(body, key);
    if (value !== undefined) whose[key] = value;
  }
  return {
    replica: text(body, "replica"),
    localSeq: whole(body, "local_seq"),
    path,
    entry: decodeState(path, body["state"]),
    seen: whole(body, "seen"),
    against: whole(body, "against"),
    actor: text(body, "actor"),
    ...whose,
  };
}

/** Returns a list with the hash of the version's content; an empty list for a deletion or a folder. */
export function contentsOfVersion({ entry }: VersionRecord): Hash[] {
  return entry?.hash === undefined ? [] : [entry.hash];
}

export function versionDraft(record: VersionRecord): EventDraft {
  return { op: "upsert", recordId: versionRecordId(record), record: encodeVersion(record) };
}

export function writeBackDraft(replica: string, record: WriteBackRecord): EventDraft {
  return { op: "upsert", recordId: writeBackRecordId(replica), record: encodeWriteBack(record) };
}
