import { type Entry, type EntryKind, SYMLINK_MODE } from "./entry.ts";
import type { Json, LogEvent, RecordBody } from "./event.ts";
import {
  isUtf8Path,
  parsePath,
  pathFromBytes,
  pathInRoot,
  pathToBytes,
  splitRoot,
  type WorkspacePath,
} from "./path.ts";
import { damaged, hashOf, object, oneOf, optionalText, recordedPath, text, texts, whole } from "./record-fields.ts";

/**
 * This module defines file records, which hold the iterations of paths, and the encoding of paths and states in
 * records.
 */

export type IterationCause =
  | "baseline"
  | "capture"
  | "run"
  | "watch"
  | "action"
  | "transaction"
  | "write"
  | "restore"
  | "undo"
  | "redo"
  | "resolve"
  /**
   * The state of another copy of the workspace. At a replica: the origin's state. At an origin: a state that a replica
   * wrote.
   */
  | "replica"
  /** The merged state of a replica and its origin. */
  | "merge"
  /** The path's content was erased, and the path is no longer recorded. The file on disk stays. */
  | "erase";

/** An event of a replica's own log. */
export interface ReplicaEvent {
  readonly id: string;
  readonly localSeq: number;
}

/** The seq of the origin's event that recorded a state, and the number of the iteration at the origin. */
export interface UpstreamIteration {
  readonly seq: number;
  readonly iteration: number;
}

/**
 * The record `file:<path>`, which holds one iteration of a path. `entry` is `undefined` if the path is deleted, or is
 * no longer recorded (`erase`).
 */
export interface FileRecord {
  readonly entry: Entry | undefined;
  readonly iteration: number;
  readonly cause: IterationCause;
  readonly actor: string;
  /** The id of the run, the watch or the agent's session that made the change. */
  readonly session?: string;
  readonly action?: string;
  /** The innermost transaction in which the change was made. Omitted if `action` was begun within this transaction. */
  readonly transaction?: string;
  /** The turn of a conversation. Set only for work that was done in another copy. */
  readonly turn?: string;
  /** The replica that wrote the change, and the replica's own event. Set only at an origin. */
  readonly replica?: ReplicaEvent;
  /** The iteration at the origin. Set only at a replica. */
  readonly upstream?: UpstreamIteration;
  /**
   * The ids of the runs, actions and transactions that may have made the change. Set only if the actor is `ambiguous`.
   */
  readonly candidates?: readonly string[];
  /**
   * The id of the intent of the operation that made the change: a write, a restore, an undo, a redo, or the settling of
   * a conflict.
   */
  readonly intent?: string;
}

/**
 * Returns true if an iteration records the state of another copy of the workspace. There are four cases:
 * - A sync took the state from the origin.
 * - A person resolved a conflict in favour of the origin.
 * - The origin erased the content.
 * - A replica wrote the state.
 *
 * A replica does not write such a state back to the origin, unless the state is proposed explicitly.
 */
export function isOriginsState({ cause, upstream }: Pick<FileRecord, "cause" | "upstream">): boolean {
  return cause === "replica" || ((cause === "resolve" || cause === "erase") && upstream !== undefined);
}

/**
 * Returns true if an iteration came from the origin that the workspace follows. Writes of the workspace's own replicas
 * have the same cause, but did not come from the origin.
 */
export function cameFromOrigin(file: Pick<FileRecord, "cause" | "upstream" | "replica">): boolean {
  return isOriginsState(file) && file.replica === undefined;
}

export function fileRecordId(path: WorkspacePath): string {
  const { root, path: inner } = splitRoot(path);
  const utf8 = isUtf8Path(inner);
  const shown = utf8 ? inner : pathToBytes(inner).toString("base64");
  if (root === undefined) return `${utf8 ? "file" : "file64"}:${shown}`;
  return `${utf8 ? "file" : "file64"}@${root}:${shown}`;
}

export interface RecordedChange {
  readonly path: WorkspacePath;
  readonly file: FileRecord;
}

type Body = Pick<LogEvent, "recordId" | "record">;

const NO_CHANGES: readonly RecordedChange[] = [];

/**
 * Returns the changes of files that an event records: one change for an event of a file record, and none for any other
 * event. All file records are decoded through this function. Throws `LOG_DAMAGED` if the record is invalid.
 */
export function changesOf({ recordId, record }: Body): readonly RecordedChange[] {
  const path = recordId.startsWith("file") ? pathOfRecordId(recordId) : undefined;
  return path === undefined ? NO_CHANGES : [{ path, file: decodeFile(path, record) }];
}

/** Returns the file record of this path in an event; `undefined` if the event does not record the path. */
export function changeOf(event: Body, path: WorkspacePath): FileRecord | undefined {
  return changesOf(event).find((one) => one.path === path)?.file;
}

const FILE_ID = /^(file|file64)(?:@([a-z0-9-]+))?:(.+)$/s;

/**
 * Returns the path of a file record's id; `undefined` for other records. Each path has exactly one valid id. Throws
 * `LOG_DAMAGED` for any other spelling of the id, and for a path that `parsePath` refuses.
 */
export function pathOfRecordId(recordId: string): WorkspacePath | undefined {
  const match = FILE_ID.exec(recordId);
  if (match === null) return undefined;
  const [, form, root, shown = ""] = match;
  return recordedPath(() => pathInRoot(root, form === "file64" ? pathFromBase64(shown) : parsePath(shown)));
}

/**
 * Decodes a path. Throws `LOG_DAMAGED` for a text that is not canonical Base64. Also throws this error for UTF-8 bytes,
 * because a UTF-8 path is written as text.
 */
function pathFromBase64(encoded: string): WorkspacePath {
  const bytes = Buffer.from(encoded, "base64");
  if (bytes.toString("base64") !== encoded) return damaged(`${JSON.stringify(encoded)} is not canonical Base64`);
  const path = pathFromBytes(bytes);
  return isUtf8Path(path) ? damaged(`${JSON.stringify(encoded)} encodes a path that is UTF-8`) : path;
}

const KINDS: ReadonlySet<EntryKind> = new Set(["file", "symlink", "dir"]);
const CAUSES: ReadonlySet<IterationCause> = new Set([
  "baseline",
  "capture",
  "run",
  "watch",
  "action",
  "transaction",
  "write",
  "restore",
  "undo",
  "redo",
  "resolve",
  "replica",
  "merge",
  "erase",
]);

const OF_ENTRIES = ["class", "hash", "mode", "mtime_ms", "mtime_ns", "size"] as const;

/**
 * Encodes a file record with its keys in canonical order, so that the keys of these most frequent records need no
 * sorting.
 */
export function encodeFile(record: FileRecord): RecordBody {
  const { entry } = record;
  const body: Record<string, Json> = {};
  if (record.action !== undefined) body["action"] = record.action;
  body["actor"] = record.actor;
  if (record.candidates !== undefined) body["candidates"] = record.candidates;
  body["cause"] = record.cause;
  if (entry?.class !== undefined) body["class"] = entry.class;
  if (entry?.hash !== undefined) body["hash"] = entry.hash;
  if (record.intent !== undefined) body["intent"] = record.intent;
  body["iteration"] = record.iteration;
  body["kind"] = entry?.kind ?? "absent";
  if (entry !== undefined) body["mode"] = entry.mode;
  if (entry !== undefined) encodeTime(body, entry);
  if (record.replica !== undefined) body["replica"] = encodeReplicaEvent(record.replica);
  if (record.session !== undefined) body["session"] = record.session;
  if (entry !== undefined) body["size"] = entry.size;
  if (record.transaction !== undefined) body["transaction"] = record.transaction;
  if (record.turn !== undefined) body["turn"] = record.turn;
  if (record.upstream !== undefined) body["upstream"] = encodeUpstream(record.upstream);
  return body;
}

/**
 * Adds the modification time of an entry. `mtime_ns` is the part of the time below one millisecond, in nanoseconds. The
 * field is left out if this part is 0.
 */
function encodeTime(body: Record<string, Json>, { mtimeMs, mtimeRestNs = 0 }: Entry): void {
  body["mtime_ms"] = mtimeMs;
  if (mtimeRestNs !== 0) body["mtime_ns"] = mtimeRestNs;
}

/**
 * Decodes a file record. `path` is the path that the id of the record names. Throws `LOG_DAMAGED` if the record is
 * invalid.
 */
export function decodeFile(path: WorkspacePath, body: RecordBody): FileRecord {
  const kind = text(body, "kind");
  if (kind === "absent") refuseFields(body, kind, OF_ENTRIES);
  const record: { -readonly [Key in keyof FileRecord]: FileRecord[Key] } = {
    entry: kind === "absent" ? undefined : decodeEntry(path, kind, body),
    iteration: iterationIn(body),
    cause: oneOf(body, "cause", CAUSES),
    actor: text(body, "actor"),
  };
  for (const key of ["session", "action", "transaction", "turn", "intent"] as const) {
    const value = optionalText(body, key);
    if (value !== undefined) record[key] = value;
  }
  if (body["replica"] !== undefined) record.replica = decodeReplicaEvent(body["replica"]);
  if (body["upstream"] !== undefined) record.upstream = decodeUpstream(body["upstream"]);
  if (body["candidates"] !== undefined) record.candidates = texts(body, "candidates");
  if (record.cause === "erase" && record.entry !== undefined) damaged("an erasure leaves something there");
  return record;
}

function iterationIn(body: RecordBody): number {
  const iteration = whole(body, "iteration");
  return iteration >= 1 ? iteration : damaged(`iteration is ${iteration}`);
}

function refuseFields(body: RecordBody, kind: string, keys: readonly string[]): void {
  const found = keys.find((key) => body[key] !== undefined);
  if (found !== undefined) damaged(`what is ${kind} has the field ${found}`);
}

export function encodeReplicaEvent({ id, localSeq }: ReplicaEvent): Json {
  return { id, local_seq: localSeq };
}

export function decodeReplicaEvent(value: Json): ReplicaEvent {
  const body = object(value, "replica");
  return { id: text(body, "id"), localSeq: whole(body, "local_seq") };
}

export function encodeUpstream({ seq, iteration }: UpstreamIteration): Json {
  return { iteration, seq };
}

export function decodeUpstream(value: Json): UpstreamIteration {
  const body = object(value, "upstream");
  return { seq: whole(body, "seq"), iteration: whole(body, "iteration") };
}

function decodeEntry(path: WorkspacePath, kind: string, body: RecordBody): Entry {
  oneOf(body, "kind", KINDS);
  const mode = whole(body, "mode");
  if (mode < 0 || mode > 0o7777) return damaged("mode is not permission bits");
  if (kind === "symlink" && mode !== SYMLINK_MODE) return damaged("mode is not that of a symlink");
  const size = whole(body, "size");
  if (size < 0) return damaged("size is below zero");
  if (kind === "dir") refuseFields(body, kind, ["hash", "mtime_ns"]);
  const hash = kind === "dir" ? undefined : hashOf(body, "hash");
  const mtimeMs = whole(body, "mtime_ms");
  const entry = { path, kind: kind as EntryKind, mode, size, mtimeMs, mtimeRestNs: decodeRest(body), hash };
  const is = optionalText(body, "class");
  if (is === undefined) return entry;
  return is === "protected" && kind === "file"
    ? { ...entry, class: is }
    : damaged(`a ${kind} is ${JSON.stringify(is)}`);
}

/**
 * Returns the part of a modification time below one millisecond, in nanoseconds; `undefined` if the field is missing.
 * The value 0 is never written, so that each time has only one form.
 */
function decodeRest(body: RecordBody): number | undefined {
  if (body["mtime_ns"] === undefined) return undefined;
  const rest = whole(body, "mtime_ns");
  return rest >= 1 && rest <= 999_999 ? rest : damaged(`mtime_ns is ${rest}`);
}

/** Encodes an entry as JSON, without its path and class; `undefined` becomes `null`. */
export function encodeState(entry: Entry | undefined): Json {
  if (entry === undefined) return null;
  const { kind, mode, size, hash } = entry;
  const state: Record<string, Json> = hash === undefined ? { kind, mode } : { hash, kind, mode };
  encodeTime(state, entry);
  state["size"] = size;
  return state;
}

export function decodeState(path: WorkspacePath, value: Json | undefined): Entry | undefined {
  if (value === null) return undefined;
  const body = object(value, "a state");
  return decodeEntry(path, text(body, "kind"), body);
}

/**
 * Encodes a path as JSON fields: `path`, or `path_b64` if its bytes are not UTF-8. Adds `root` for a path in a tracked
 * root after the first.
 */
export function encodePath(path: WorkspacePath): Record<string, Json> {
  const { root, path: inner } = splitRoot(path);
  const named: Record<string, Json> = isUtf8Path(inner)
    ? { path: inner }
    : { path_b64: pathToBytes(inner).toString("base64") };
  if (root !== undefined) named["root"] = root;
  return named;
}

/** Decodes the fields of `encodePath` in a record of the log. Throws `LOG_DAMAGED` for invalid fields. */
export function decodePath(body: RecordBody): WorkspacePath {
  const encoded = optionalText(body, "path_b64");
  if (encoded !== undefined) refuseFields(body, "named in Base64", ["path"]);
  return recordedPath(() => {
    const inner = encoded === undefined ? parsePath(text(body, "path")) : pathFromBase64(encoded);
    return pathInRoot(optionalText(body, "root"), inner);
  });
}
