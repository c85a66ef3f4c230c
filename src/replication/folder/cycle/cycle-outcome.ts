import type { ConflictRecord } from "../../../core/records/conflict-record.ts";
import type { ReplicaHalt } from "../../../core/records/replica-record.ts";

/** The outcome of a cycle. */
export type CycleOutcome =
  /** A concurrent change came first: run the cycle again. */
  | { readonly kind: "moved" }
  /** Entries are being deleted: wait until that is over. */
  | { readonly kind: "restless"; readonly waitMs: number }
  /** A commit of the origin has arrived in part only: the rest is on its way. */
  | { readonly kind: "partial" }
  | { readonly kind: "halted"; readonly halt: ReplicaHalt }
  | {
      readonly kind: "done";
      /** Counts the paths of the folder that were changed. */
      readonly applied: number;
      /** Conflicts that were opened, went on or were settled. */
      readonly conflicts: readonly Pick<ConflictRecord, "path" | "state">[];
      /** True if the step wrote something that the origin must hear of, or that must be compared once more. */
      readonly isMore: boolean;
    };
