import type { EventDraft, Json, RecordBody } from "../values/event.ts";
import type { ReconcileMode } from "../tree/reconcile.ts";
import { damaged, flag, object, optionalText, text, texts, whole } from "../values/record-fields.ts";
import { optional } from "../../util/optional.ts";

const PREFIX = "replica:";

/** The reason why a sync is halted until a person decides. */
export interface ReplicaHalt {
  /** A word for programs, such as `root-vanished`, `root-replaced`, `root-emptied`, `mass-deletion` or `diverged`. */
  readonly reason: string;
  /** A text for messages. */
  readonly detail?: string;
}

/** The identity of a folder. If the identity at a path has changed, another folder is now at this path. */
export interface FolderIdentity {
  /** The device and the inode, as decimal numbers. */
  readonly dev: string;
  readonly ino: string;
  /**
   * The folder's birth time (`Disk.birthOf`), which distinguishes the folder from a later folder with the same inode.
   * Omitted if the time is unknown.
   */
  readonly birth?: string;
}

/**
 * The way in which the next step of a sync treats missing paths.
 * - `here`: paths that are missing in the folder are written to the folder again.
 * - `both`: in addition to `here`, paths that are missing at the origin are proposed to the origin.
 */
export type Kept = "here" | "both";

/**
 * The rule for files that editors and desktops make for themselves. `leave`: each file stays on the side on which it
 * was made. `sync`: the files are synced both ways.
 */
export type EditorFilesRule = "leave" | "sync";

/**
 * `replica:<workspace id of the origin>`: this workspace's folder follows that origin. Each step of the sync writes
 * this record, in the same commit as the step's changes to the folder. The last event of the record has the current
 * state of the sync.
 */
export interface ReplicaRecord {
  /** The id of the origin's workspace; `""` until the origin has answered once. */
  readonly origin: string;
  /** The id by which the origin knows this replica. If the id changes, the journal starts again. */
  readonly sandboxId: string;
  /** The URL of the origin, without a token. */
  readonly url: string;
  /** The id or name of the origin's workspace, as it was given at the start of the sync. Omitted if none was given. */
  readonly workspace?: string;
  readonly mode: ReconcileMode;
  /**
   * `filterTo`: patterns of paths that are not copied from the origin into the folder. `filterFrom`: patterns of paths
   * that are not written back to the origin.
   */
  readonly filterTo: readonly string[];
  readonly filterFrom: readonly string[];
  /**
   * The value of `filterTo` at the last reconciliation. Set only if `filterTo` has changed since that reconciliation.
   * The next step of the sync removes this field.
   */
  readonly filteredTo?: readonly string[];
  /** The name of a predefined filter. Omitted if none applies. */
  readonly policy?: string;
  /** The rule for editors' own files (core/filter/editor-names.ts). Default: `leave`. */
  readonly editorFiles?: EditorFilesRule;
  /** The time in milliseconds for which a file must be unchanged before it is recorded. Default: 50. */
  readonly debounceMs?: number;
  /** True if protected files are synced both ways, too. Default: each side keeps its own protected files. */
  readonly withProtected?: true;
  /**
   * The protected names that a person has added at the origin. Files with these names are also protected in the folder.
   * Default: none.
   */
  readonly originNames?: readonly string[];
  /** The protected names that a person had added in the folder at the last reconciliation. Default: none. */
  readonly ownNames?: readonly string[];
  /** The last event of the origin with which the folder is reconciled; 0 if the folder was never reconciled. */
  readonly applied: number;
  /**
   * The last event of the replica's own log to which the origin is known to have replied. Pruning keeps the contents of
   * later events, because they may still have to be sent.
   */
  readonly settled: number;
  /**
   * Set if the next step of the sync must not treat missing paths as deleted (see `Kept`). Default: missing paths are
   * treated as deleted.
   */
  readonly keeps?: Kept;
  readonly folder?: FolderIdentity;
  /** True if the sync is paused. Default: false. */
  readonly paused?: boolean;
  /** True if the sync is stopped. Default: false. */
  readonly stopped?: boolean;
  /** Set if the sync is halted. */
  readonly halted?: ReplicaHalt;
}

export function replicaRecordId(origin: string): string {
  return PREFIX + origin;
}

/** Returns the origin of a replica record; `undefined` for other records. */
export function originOfRecordId(recordId: string): string | undefined {
  return recordId.startsWith(PREFIX) ? recordId.slice(PREFIX.length) : undefined;
}

export function replicaDraft(record: ReplicaRecord): EventDraft {
  return { op: "upsert", recordId: replicaRecordId(record.origin), record: encodeReplica(record) };
}

export function encodeReplica(record: ReplicaRecord): RecordBody {
  const { sandboxId, filterTo, filterFrom, filteredTo, editorFiles, debounceMs, withProtected, ...others } = record;
  const { originNames, ownNames, keeps, folder, halted, paused, stopped, ...rest } = others;
  const body: Record<string, Json> = { ...rest, sandbox_id: sandboxId, filter_to: filterTo, filter_from: filterFrom };
  if (filteredTo !== undefined) body["filtered_to"] = filteredTo;
  if (editorFiles !== undefined) body["editor_files"] = editorFiles;
  if (debounceMs !== undefined) body["debounce_ms"] = debounceMs;
  if (keeps !== undefined) body["keeps"] = keeps;
  if (withProtected === true) body["with_protected"] = true;
  if (originNames !== undefined && originNames.length > 0) body["origin_names"] = originNames;
  if (ownNames !== undefined && ownNames.length > 0) body["own_names"] = ownNames;
  if (folder !== undefined) body["folder"] = { ...folder };
  if (paused === true) body["paused"] = true;
  if (stopped === true) body["stopped"] = true;
  if (halted !== undefined) body["halted"] = { ...halted };
  return body;
}

const MODES: ReadonlySet<string> = new Set<ReconcileMode>([
  "two-way-safe",
  "two-way-resolved",
  "one-way-safe",
  "one-way-replica",
]);

/** Decodes a replica record. Throws `LOG_DAMAGED` if it is invalid. */
export function decodeReplica(body: RecordBody): ReplicaRecord {
  const mode = text(body, "mode");
  if (!MODES.has(mode)) damaged(`mode is ${JSON.stringify(mode)}`);
  return {
    origin: text(body, "origin"),
    sandboxId: text(body, "sandbox_id"),
    url: text(body, "url"),
    mode: mode as ReconcileMode,
    filterTo: texts(body, "filter_to"),
    filterFrom: texts(body, "filter_from"),
    applied: whole(body, "applied"),
    settled: whole(body, "settled"),
    ...settings(body),
    ...stateFields(body),
  };
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

function settings(body: RecordBody): Partial<ReplicaRecord> {
  const found: Mutable<Partial<ReplicaRecord>> = {};
  for (const key of ["workspace", "policy"] as const) {
    const value = optionalText(body, key);
    if (value !== undefined) found[key] = value;
  }
  if (body["filtered_to"] !== undefined) found.filteredTo = texts(body, "filtered_to");
  const editorFiles = optionalText(body, "editor_files");
  if (editorFiles !== undefined) found.editorFiles = editorFilesRule(editorFiles);
  if (body["with_protected"] !== undefined && flag(body, "with_protected")) found.withProtected = true;
  if (body["origin_names"] !== undefined) found.originNames = texts(body, "origin_names");
  if (body["own_names"] !== undefined) found.ownNames = texts(body, "own_names");
  if (body["debounce_ms"] !== undefined) found.debounceMs = whole(body, "debounce_ms");
  const keeps = optionalText(body, "keeps");
  if (keeps !== undefined) found.keeps = keepsRule(keeps);
  if (body["folder"] !== undefined) {
    const folder = object(body["folder"], "folder");
    const birth = optionalText(folder, "birth");
    found.folder = { dev: text(folder, "dev"), ino: text(folder, "ino"), ...optional({ birth }) };
  }
  return found;
}

function keepsRule(text: string): Kept {
  if (text !== "here" && text !== "both") damaged(`keeps is ${JSON.stringify(text)}`);
  return text;
}

function editorFilesRule(text: string): EditorFilesRule {
  if (text !== "leave" && text !== "sync") damaged(`editor_files is ${JSON.stringify(text)}`);
  return text;
}

function stateFields(body: RecordBody): Partial<ReplicaRecord> {
  const found: Mutable<Partial<ReplicaRecord>> = {};
  for (const key of ["paused", "stopped"] as const) if (body[key] !== undefined) found[key] = flag(body, key);
  if (body["halted"] !== undefined) {
    const halted = object(body["halted"], "halted");
    const detail = optionalText(halted, "detail");
    found.halted = { reason: text(halted, "reason"), ...optional({ detail }) };
  }
  return found;
}
