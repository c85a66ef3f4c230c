import { canonicalJson, parseCanonical } from "../values/canonical-json.ts";
import type { Omission, OmissionReason } from "./coverage.ts";
import type { EntryKind } from "../values/entry.ts";
import type { Json } from "../values/event.ts";
import { decodePath, encodePath } from "../values/file-record.ts";
import { damaged, object, optionalText, text, whole } from "../values/record-fields.ts";

/**
 * The omitted paths that existed before an action, each with some fields of its stat. The list is a blob, because
 * another process may finish the action. Canonical JSON, sorted by path.
 */

/** An omitted path, and the fields of its stat that are compared. */
export interface ListedOmission {
  readonly omission: Omission;
  readonly stat: OmittedStat;
}

/** The fields of an omitted path's stat that are compared. */
export interface OmittedStat {
  readonly kind: EntryKind | "special";
  readonly mode: number;
  readonly size: number;
  readonly mtimeNs: bigint;
  readonly ino: bigint;
}

const KINDS: ReadonlySet<string> = new Set<OmittedStat["kind"]>(["file", "dir", "symlink", "special"]);

/** Encodes a list. */
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

/** Decodes a list. Throws `LOG_DAMAGED`, `PATH_INVALID`. */
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
