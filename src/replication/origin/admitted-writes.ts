import type { ReplicaAdmission } from "../../api/replication-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { WriteBackBatch, WriteBackEntry } from "../../core/records/write-back.ts";
import type { WriteBackTarget } from "./write-back-target.ts";
import { claimedName, NOBODYS } from "../../core/records/actor-name.ts";

/** Restricts what a replica may write: nothing if it is read-only, and an agent's token cannot make it a person. */
export function admittedWrites(
  target: WriteBackTarget,
  { readOnly, actor }: Pick<ReplicaAdmission, "readOnly" | "actor">,
): WriteBackTarget {
  const named = (entry: WriteBackEntry): WriteBackEntry =>
    actor === undefined || entry.actor === NOBODYS || claimedName(entry.actor) === undefined
      ? entry
      : { ...entry, actor };
  return {
    settled: (replica) => target.settled(replica),
    reserve: (bytes) => target.reserve(bytes),
    refusal: (entry) => (readOnly ? "read-only" : target.refusal(entry)),
    decide: async (batch: WriteBackBatch) => {
      if (!readOnly) return target.decide({ ...batch, entries: batch.entries.map(named) });
      throw new ChronicleError("READ_ONLY", "this replica's token may only look");
    },
  };
}
