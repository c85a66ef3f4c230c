import type { ReplicaVisitor } from "../../api/replication-api.ts";
import type { OriginOptions } from "./origin-session.ts";
import { visitorDoor } from "./visitor-door.ts";

/** What a session with this visitor is led with: what it may do at the door, and whether it is told that it may only follow. */
export function optionsFor(options: OriginOptions, visitor: Pick<ReplicaVisitor, "readOnly" | "actor">): OriginOptions {
  const { writeBack, ...rest } = options;
  const { readOnly } = visitor;
  if (writeBack === undefined) return { ...rest, readOnly };
  return { ...rest, readOnly, writeBack: { ...writeBack, door: visitorDoor(writeBack.door, visitor) } };
}
