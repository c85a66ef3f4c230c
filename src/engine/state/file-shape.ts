import type { FileShape } from "../../api/file-api.ts";
import type { Entry } from "../../core/values/entry.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { exactPath, shownPath } from "../log/shape.ts";

export interface PresentRow extends IterationRow {
  readonly entry: Entry;
}

export function isPresent(row: IterationRow | undefined): row is PresentRow {
  return row?.entry !== undefined;
}

function timeShape({ mtimeMs, mtimeRestNs = 0 }: Entry): Pick<FileShape, "mtime_ms" | "mtime_ns"> {
  return mtimeRestNs === 0 ? { mtime_ms: mtimeMs } : { mtime_ms: mtimeMs, mtime_ns: mtimeRestNs };
}

export function fileShape({ path, entry, iteration, seq }: PresentRow): FileShape {
  const { kind, size, hash = "", mode } = entry;
  return {
    path: shownPath(path),
    ...exactPath(path),
    kind,
    size,
    hash,
    permissions: mode,
    ...timeShape(entry),
    iteration,
    seq,
  };
}
