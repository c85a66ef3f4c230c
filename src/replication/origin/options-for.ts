import type { ReplicaVisitor } from "../../api/replication-api.ts";
import type { OriginOptions } from "./origin-session.ts";
import { visitorDoor } from "./visitor-door.ts";

type Visitor = Pick<ReplicaVisitor, "readOnly" | "actor" | "presenter">;

/** What a session with this visitor is led with: what it may do at the door, and whether it is told that it may only follow. */
export function optionsFor(options: OriginOptions, visitor: Visitor): OriginOptions {
  const { writeBack, ...rest } = options;
  const { readOnly } = visitor;
  const may = { readOnly, mayHaveSecrets: visitor.presenter.isOperator };
  if (writeBack === undefined) return { ...rest, ...may };
  return { ...rest, ...may, writeBack: { ...writeBack, door: visitorDoor(writeBack.door, visitor) } };
}
