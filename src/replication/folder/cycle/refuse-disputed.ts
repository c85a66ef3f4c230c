import type { ConflictRecord, IdentifiedConflict } from "../../../core/records/conflict-record.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { shownPath } from "../../../engine/log/shape.ts";

/**
 * Throws `REFUSED` if a conflict is open about something that the origin recorded after the event `common`, and no
 * longer has.
 */
export function refuseDisputed(conflicts: readonly IdentifiedConflict[], common: number): void {
  const behind = conflicts.filter(({ record }) => isAfter(record, common));
  if (behind.length === 0) return;
  const paths = behind.map(({ record }) => shownPath(record.path));
  const what = behind.length === 1 ? `the conflict of ${paths[0]} is` : `${behind.length} conflicts are`;
  throw new ChronicleError("REFUSED", `${what} about what the origin has no more`, {
    hint: "the origin's side of it is only here by now: settle it first (`chronicle sync conflicts`, `chronicle sync resolve`)",
    data: { paths: paths.slice(0, 100) },
  });
}

function isAfter({ sync }: ConflictRecord, seq: number): boolean {
  return sync !== undefined && Math.max(sync.baseSeq, sync.upstreamSeq, sync.since ?? 0) > seq;
}
