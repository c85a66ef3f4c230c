import type { ReplicaAdmission } from "../../api/replication-api.ts";
import type { OriginOptions } from "./origin-session.ts";
import { admittedWrites } from "./admitted-writes.ts";

type Admitted = Pick<ReplicaAdmission, "readOnly" | "actor" | "presenter">;

/**
 * Returns the options for a session with this admission: what it may write, and whether it is told that it may only
 * follow.
 */
export function optionsFor(options: OriginOptions, admission: Admitted): OriginOptions {
  const { writeBack, ...rest } = options;
  const { readOnly } = admission;
  const may = { readOnly, mayHaveSecrets: admission.presenter.isOperator };
  if (writeBack === undefined) return { ...rest, ...may };
  return { ...rest, ...may, writeBack: { ...writeBack, target: admittedWrites(writeBack.target, admission) } };
}
