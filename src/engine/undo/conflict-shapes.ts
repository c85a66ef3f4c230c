import type { ConflictShape } from "../../api/conflict-shape.ts";
import type { ConflictRecord, IdentifiedConflict } from "../../core/records/conflict-record.ts";
import { exactPath, shownPath } from "../log/shape.ts";
import { optional } from "../../util/optional.ts";

/** Returns the fields that only a conflict with an upstream has. */
function syncPart({ sync, base }: ConflictRecord): Pick<ConflictShape, "cause" | "detail" | "base_hash"> {
  if (sync === undefined) return {};
  const { detail } = sync;
  return { cause: "sync", base_hash: base?.hash ?? "", ...optional({ detail }) };
}

/** A conflict of an undo with later work, or of a folder with its upstream, as programs see it. */
export function unmergedShape({ id, record }: IdentifiedConflict): ConflictShape {
  const { path, state, settled, reason, undo, met, current, wanted } = record;
  return {
    id,
    ...syncPart(record),
    path: shownPath(path),
    ...exactPath(path),
    timestamp: met,
    state,
    ...optional({ settled }),
    reason,
    undo_id: undo,
    current_hash: current?.hash ?? "",
    undo_hash: wanted?.hash ?? "",
    current_size: current?.size ?? 0,
    undo_size: wanted?.size ?? 0,
    current_kind: current?.kind ?? null,
    undo_kind: wanted?.kind ?? null,
    ...(current === undefined ? {} : { current_permissions: current.mode }),
    ...(wanted === undefined ? {} : { undo_permissions: wanted.mode }),
  };
}
