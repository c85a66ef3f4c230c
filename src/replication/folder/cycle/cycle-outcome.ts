import type { ConflictRecord } from "../../../core/records/conflict-record.ts";
import type { ReplicaHalt } from "../../../core/records/replica-record.ts";

/** What became of a cycle. */
export type CycleOutcome =
  /** Somebody was faster: it is to be done again. */
  | { readonly kind: "moved" }
  /** Something is being deleted: wait until that is over. */
  | { readonly kind: "restless"; readonly waitMs: number }
  /** A commit of the origin has come in part only: the rest is on its way. */
  | { readonly kind: "partial" }
  | { readonly kind: "halted"; readonly halt: ReplicaHalt }
  | {
      readonly kind: "done";
      /** Paths of the folder that were changed. */
      readonly applied: number;
      /** Conflicts that were opened, went on or were settled. */
      readonly conflicts: readonly Pick<ConflictRecord, "path" | "state">[];
      /** Something was written that the origin is to hear of, or that is to be looked at once more. */
      readonly isMore: boolean;
    };
