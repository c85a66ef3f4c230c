import type { ReplicaAdmission } from "../../api/replication-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { WriteBackBatch, WriteBackEntry } from "../../core/records/write-back.ts";
import type { WriteBackDoor } from "./write-back-door.ts";
import { claimedName, NOBODYS } from "../../core/records/actor-name.ts";

/** Restricts what a replica may write: nothing if it is read-only, and an agent's token cannot make it a person. */
export function admittedWrites(
  door: WriteBackDoor,
  { readOnly, actor }: Pick<ReplicaAdmission, "readOnly" | "actor">,
): WriteBackDoor {
  const named = (entry: WriteBackEntry): WriteBackEntry =>
    actor === undefined || entry.actor === NOBODYS || claimedName(entry.actor) === undefined
      ? entry
      : { ...entry, actor };
  return {
    settled: (replica) => door.settled(replica),
    reserve: (bytes) => door.reserve(bytes),
    refusal: (entry) => (readOnly ? "read-only" : door.refusal(entry)),
    decide: async (batch: WriteBackBatch) => {
      if (!readOnly) return door.decide({ ...batch, entries: batch.entries.map(named) });
      throw new ChronicleError("READ_ONLY", "this replica's token may only look");
    },
  };
}
