import type { ConflictShape } from "../api/conflict-shape.ts";
import type { IdentifiedConflict } from "../core/conflict-record.ts";
import { exactPath, shownPath } from "./shape.ts";

/** A conflict of an undo with later work, or of a folder with its upstream, as programs see it. */
export function unmergedShape({ id, record }: IdentifiedConflict): ConflictShape {
  const { path, state, settled, reason, undo, sync, met, base, current, wanted } = record;
  const detail = sync?.detail;
  return {
    id,
    ...(sync === undefined ? {} : { cause: "sync" as const }),
    path: shownPath(path),
    ...exactPath(path),
    timestamp: met,
    state,
    ...(settled === undefined ? {} : { settled }),
    reason,
    ...(detail === undefined ? {} : { detail }),
    undo_id: undo,
    current_hash: current?.hash ?? "",
    undo_hash: wanted?.hash ?? "",
    ...(sync === undefined ? {} : { base_hash: base?.hash ?? "" }),
    current_size: current?.size ?? 0,
    undo_size: wanted?.size ?? 0,
    current_kind: current?.kind ?? null,
    undo_kind: wanted?.kind ?? null,
    ...(current === undefined ? {} : { current_permissions: current.mode }),
    ...(wanted === undefined ? {} : { undo_permissions: wanted.mode }),
  };
}
