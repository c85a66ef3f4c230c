import type { ReplicaAdmission } from "../../api/replication-api.ts";
import type { OriginOptions } from "./origin-session.ts";
import { admittedWrites } from "./admitted-writes.ts";

type Visitor = Pick<ReplicaAdmission, "readOnly" | "actor" | "presenter">;

/**
 * Returns the options for a session with this visitor: what it may write, and whether it is told that it may only
 * follow.
 */
export function optionsFor(options: OriginOptions, visitor: Visitor): OriginOptions {
  const { writeBack, ...rest } = options;
  const { readOnly } = visitor;
  const may = { readOnly, mayHaveSecrets: visitor.presenter.isOperator };
  if (writeBack === undefined) return { ...rest, ...may };
  return { ...rest, ...may, writeBack: { ...writeBack, door: admittedWrites(writeBack.door, visitor) } };
}
