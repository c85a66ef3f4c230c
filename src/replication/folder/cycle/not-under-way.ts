import type { ConflictRecord, IdentifiedConflict } from "../../../core/records/conflict-record.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { shownPath } from "../../../engine/log/shape.ts";
import type { ReplicaHalt, ReplicaRecord } from "../../../core/records/replica-record.ts";
import { haltedBecause, hintFor } from "../link/sync-shape.ts";

/** Returns the error `REFUSED` for a request that a halted sync cannot carry out. */
export function haltedSync(halt: ReplicaHalt): ChronicleError {
  return new ChronicleError("REFUSED", `the sync is halted: ${haltedBecause(halt)}`, { hint: hintFor(halt) });
}

/** Returns the error `REFUSED` for a rejoin with an origin that has lost nothing. */
export function nothingLost(): ChronicleError {
  return new ChronicleError(
    "REFUSED",
    "the origin has lost nothing: its history continues from what this replica holds",
    {
      hint: "`chronicle sync rejoin` is for a sync that is halted because its origin was put back to an earlier state",
    },
  );
}

/** Returns the error `REFUSED` for a restore that is requested although the sync is not halted. */
export function nothingHalted(): ChronicleError {
  return new ChronicleError("REFUSED", "the sync is not halted: there are no deleted files to restore", {
    hint: "in the folder, `chronicle undo --file PATH` undoes a deletion, and `chronicle restore MOMENT PATH` brings back an earlier state",
  });
}

/**
 * Returns the error for a request to a sync that is not running. The code `REFUSED` tells clients not to retry, because
 * a person must act.
 */
export function notUnderWay({ stopped, paused }: ReplicaRecord, why: string): ChronicleError {
  const hint =
    stopped === true
      ? "`chronicle sync start URL#WORKSPACE FOLDER` continues the sync where it stopped"
      : paused === true
        ? "`chronicle sync resume` continues the sync"
        : "`chronicle sync status` says what to do";
  return new ChronicleError("REFUSED", `the sync is not under way: ${why}`, { hint });
}

/**
 * Throws `REFUSED` if an open conflict is about an event after `common`. The origin has lost the events after `common`.
 */
export function refuseDisputed(conflicts: readonly IdentifiedConflict[], common: number): void {
  const behind = conflicts.filter(({ record }) => isAfter(record, common));
  if (behind.length === 0) return;
  const paths = behind.map(({ record }) => shownPath(record.path));
  const what = behind.length === 1 ? `the conflict of ${paths[0]} is` : `${behind.length} conflicts are`;
  throw new ChronicleError("REFUSED", `${what} about changes that the origin has lost`, {
    hint: "only this replica still has the lost changes: first settle the conflicts about them (`chronicle sync conflicts`, `chronicle sync resolve`)",
    data: { paths: paths.slice(0, 100) },
  });
}

function isAfter({ sync }: ConflictRecord, seq: number): boolean {
  return sync !== undefined && Math.max(sync.baseSeq, sync.upstreamSeq, sync.since ?? 0) > seq;
}
