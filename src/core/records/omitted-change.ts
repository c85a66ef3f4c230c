import { canonicalJson, parseCanonical } from "../values/canonical-json.ts";
import type { Omission, OmissionReason } from "./coverage.ts";
import type { EntryKind } from "../values/entry.ts";
import type { Json, RecordBody } from "../values/event.ts";
import { decodePath, encodePath } from "../values/file-record.ts";
import { damaged, object, optionalText, text, whole, flag, list, oneOf, texts } from "../values/record-fields.ts";
import type { WorkspacePath } from "../values/path.ts";
import { optional } from "../../util/optional.ts";

/**
 * A change that a session or action made to an omitted path. The change is not recorded as an iteration of the path.
 * Only the record of the session or action mentions the change.
 */
export interface OmittedChange {
  readonly path: WorkspacePath;
  readonly type: OmittedChangeType;
  readonly reason: OmissionReason;
  /** A text for messages, such as the rule that leaves the path out. */
  readonly detail?: string;
  /**
   * True if the content that `undo` needs to invert the change was kept aside. For a created path, this is the created
   * content. For other changes, this is the earlier content.
   */
  readonly kept: boolean;
  /** True if the path's earlier content is lost for good. */
  readonly lost: boolean;
  /**
   * Set if the history has an earlier state of the path, but the new state could not be recorded. The reason can be
   * that the file is too large or unreadable. `undo` then leaves the path as it is.
   */
  readonly recorded?: true;
  /**
   * The ids of the sessions and actions that may have made the change. Set only if several sessions and actions were
   * open at the same time. An `undo` that does not undo all candidates leaves the path as it is.
   */
  readonly candidates?: readonly string[];
}

/**
 * Returns true if an undo of the session or action alone also inverts the change. This requires that the content was
 * kept aside, and that no other session or action can have made the change.
 */
export function isRestored({ kept, candidates }: Pick<OmittedChange, "kept" | "candidates">): boolean {
  return kept && candidates === undefined;
}

type OmittedChangeType = "created" | "modified" | "deleted";

const TYPES: ReadonlySet<OmittedChangeType> = new Set(["created", "modified", "deleted"]);

/**
 * The maximum number of changes of omitted paths that a record lists. Changes whose `lost` is true are listed first.
 * Changes beyond the maximum are dropped.
 */
const MOST_LISTED = 2_000;

export function encodeOmittedChanges(changes: readonly OmittedChange[]): Json {
  const listed = [...changes.filter((one) => one.lost), ...changes.filter((one) => !one.lost)].slice(0, MOST_LISTED);
  return listed.map(({ path, type, reason, detail, kept, lost, recorded, candidates }) => ({
    ...encodePath(path),
    type,
    reason,
    ...(detail === undefined ? {} : { detail: detail.toWellFormed() }),
    kept,
    lost,
    ...optional({ recorded }),
    ...(candidates === undefined ? {} : { candidates: [...candidates] }),
  }));
}

/** Decodes the list of changes in the field `key` of a record. Returns an empty list if the record lacks the field. */
export function decodeOmittedChanges(body: RecordBody, key: string): readonly OmittedChange[] {
  if (body[key] === undefined) return [];
  return list(body, key).map((item) => {
    const one = object(item, "a change of an omitted path");
    const detail = optionalText(one, "detail");
    return {
      path: decodePath(one),
      type: oneOf(one, "type", TYPES),
      reason: text(one, "reason") as OmissionReason,
      ...optional({ detail }),
      kept: flag(one, "kept"),
      lost: flag(one, "lost"),
      ...(one["recorded"] === true ? { recorded: true as const } : {}),
      ...(one["candidates"] === undefined ? {} : { candidates: texts(one, "candidates") }),
    };
  });
}

// Before an action, the omitted paths are listed, each with some fields of its stat result. The list is stored as a
// blob, because another process may finish the action. The blob is canonical JSON, with the items sorted by path.

/** An omitted path that existed before an action. */
export interface ListedOmission {
  readonly omission: Omission;
  readonly stat: OmittedStat;
}

/** The fields of an omitted path's stat result that are recorded before an action. */
export interface OmittedStat {
  readonly kind: EntryKind | "special";
  readonly mode: number;
  readonly size: number;
  readonly mtimeNs: bigint;
  readonly ino: bigint;
}

const KINDS: ReadonlySet<string> = new Set<OmittedStat["kind"]>(["file", "dir", "symlink", "special"]);

export function encodeOmittedList(rows: Iterable<ListedOmission>): Buffer {
  const encoded: Json[] = [];
  for (const { omission, stat } of rows) {
    encoded.push({
      ...encodePath(omission.path),
      reason: omission.reason,
      ...(omission.detail === undefined ? {} : { detail: omission.detail.toWellFormed() }),
      kind: stat.kind,
      mode: stat.mode,
      size: stat.size,
      mtime_ns: String(stat.mtimeNs),
      inode: String(stat.ino),
    });
  }
  return Buffer.from(canonicalJson(encoded));
}

/**
 * Decodes the output of `encodeOmittedList`. Throws `LOG_DAMAGED` for an invalid list, and `INTEGRITY_VIOLATION` for a
 * text that is not canonical JSON.
 */
export function decodeOmittedList(bytes: Uint8Array): ListedOmission[] {
  const value = parseCanonical(Buffer.from(bytes).toString("utf8"));
  if (!Array.isArray(value)) return damaged("the list of omitted paths is not a list");
  return value.map((item: Json) => {
    const row = object(item, "an omitted path");
    const detail = optionalText(row, "detail");
    const [kind, path] = [text(row, "kind"), decodePath(row)];
    if (!KINDS.has(kind)) damaged(`the kind of an omitted path is ${JSON.stringify(kind)}`);
    const omission = { path, reason: text(row, "reason") as OmissionReason };
    return {
      omission: detail === undefined ? omission : { ...omission, detail },
      stat: {
        kind: kind as OmittedStat["kind"],
        mode: whole(row, "mode"),
        size: whole(row, "size"),
        mtimeNs: number(text(row, "mtime_ns")),
        ino: number(text(row, "inode")),
      },
    };
  });
}

function number(digits: string): bigint {
  return /^-?\d{1,20}$/.test(digits) ? BigInt(digits) : damaged(`${JSON.stringify(digits)} is not a whole number`);
}
