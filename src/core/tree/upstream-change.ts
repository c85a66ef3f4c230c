import type { Change, Entry } from "../values/entry.ts";
import type { Json, RecordBody } from "../values/event.ts";
import {
  decodeReplicaEvent,
  decodeState,
  decodeUpstream,
  encodeReplicaEvent,
  encodeState,
  encodeUpstream,
  type ReplicaEvent,
  type UpstreamIteration,
} from "../values/file-record.ts";
import type { WorkspacePath } from "../values/path.ts";
import { damaged, list, object, optionalText, text, whole } from "../values/record-fields.ts";

/** The author of a change that was made in another copy of the workspace. */
export interface RemoteWork {
  readonly actor: string;
  readonly session?: string;
  readonly turn?: string;
  readonly action?: string;
}

/** The state of a path that the folder and its origin last had in common. */
export interface SyncBase {
  readonly entry: Entry | undefined;
  /** The seq of the origin's event that recorded the state; 0 if the path never existed. */
  readonly seq: number;
}

/** A state that a replica has written, and the event of that state in the replica's own log. */
export interface WrittenState {
  readonly entry: Entry | undefined;
  readonly by: RemoteWork;
  readonly replica: ReplicaEvent;
}

/**
 * A change to a folder, caused by the state of another copy of the workspace, with the fields to be recorded. In a
 * replica's folder, the other copy is the origin. In an origin's folder, the other copy is a replica that has written
 * the state (`written`).
 */
export interface UpstreamChange extends Change {
  /**
   * With `replica` (the default), the path gets the state that the origin has. With `merge`, the path gets a state that
   * the origin does not have, such as a merge of both sides. The change is then sent to the origin.
   */
  readonly cause?: "replica" | "merge";
  /** The author of the change in the other copy. Omitted if the author is unknown. */
  readonly by?: RemoteWork;
  readonly upstream?: UpstreamIteration;
  /**
   * The state that both sides last had in common. Default: the path never existed. If the path cannot be written, the
   * conflict at this path keeps the base.
   */
  readonly base?: SyncBase;
  /** The states of the path that a replica has written, in order. The last state is `after`. Set only at an origin. */
  readonly written?: readonly WrittenState[];
}

/** Encodes the fields that are set. The base of a path that never existed is left out, because it is the default. */
export function encodeUpstreamFields({ cause, by, upstream, base, written }: UpstreamChange): Record<string, Json> {
  const fields: Record<string, Json> = {};
  const isBased = base !== undefined && (base.entry !== undefined || base.seq !== 0);
  if (isBased) fields["base"] = { entry: encodeState(base.entry), seq: base.seq };
  if (by !== undefined) fields["by"] = { ...by };
  if (cause !== undefined) fields["cause"] = cause;
  if (upstream !== undefined) fields["upstream"] = encodeUpstream(upstream);
  if (written !== undefined) fields["written"] = written.map(encodeWritten);
  return fields;
}

function encodeWritten({ entry, by, replica }: WrittenState): Json {
  return { entry: encodeState(entry), by: { ...by }, replica: encodeReplicaEvent(replica) };
}

function decodeWritten(path: WorkspacePath, body: RecordBody): WrittenState {
  const by = decodeWork(object(body["by"], "by"));
  return {
    entry: decodeState(path, body["entry"]),
    by,
    replica: decodeReplicaEvent(object(body["replica"], "replica")),
  };
}

/** Decodes the output of `encodeUpstreamFields`. Throws `LOG_DAMAGED` for invalid fields. */
export function decodeUpstreamFields(path: WorkspacePath, body: RecordBody): Omit<UpstreamChange, keyof Change> {
  const { upstream } = body;
  return {
    ...(body["cause"] === undefined ? {} : { cause: causeIn(body) }),
    ...(body["by"] === undefined ? {} : { by: decodeWork(object(body["by"], "by")) }),
    ...(upstream === undefined ? {} : { upstream: decodeUpstream(upstream) }),
    ...(body["base"] === undefined ? {} : { base: decodeSyncBase(path, object(body["base"], "base")) }),
    ...(body["written"] === undefined
      ? {}
      : { written: list(body, "written").map((one) => decodeWritten(path, object(one, "a written state"))) }),
  };
}

function causeIn(body: RecordBody): "replica" | "merge" {
  const cause = text(body, "cause");
  return cause === "replica" || cause === "merge" ? cause : damaged(`cause is ${JSON.stringify(cause)}`);
}

function decodeWork(body: RecordBody): RemoteWork {
  const found: { session?: string; turn?: string; action?: string } = {};
  for (const key of ["session", "turn", "action"] as const) {
    const value = optionalText(body, key);
    if (value !== undefined) found[key] = value;
  }
  return { actor: text(body, "actor"), ...found };
}

function decodeSyncBase(path: WorkspacePath, body: RecordBody): SyncBase {
  return { entry: decodeState(path, body["entry"]), seq: whole(body, "seq") };
}
