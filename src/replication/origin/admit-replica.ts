import type { ReplicaPresenter } from "../../api/replication-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { ReplicaCursors } from "./replica-cursors.ts";

/**
 * Who presents a replica first holds it: its id stands in the history for all to read, and whoever came with it could have
 * its answers, and settle what it has not sent. An operator may come with each, and leaves it its holder's. Throws
 * `FORBIDDEN` for anybody else, before anything was answered.
 */
export function admitReplica(
  cursors: ReplicaCursors,
  replica: string,
  { id, isOperator, replicas }: ReplicaPresenter,
): void {
  const holder = cursors.holder(replica);
  if (holder === id) return;
  if (holder === undefined || replicas.includes(replica)) return cursors.hold(replica, id);
  if (isOperator) return;
  throw new ChronicleError(
    "FORBIDDEN",
    `replica ${replica} belongs to another token: come with that one, or have the origin's operator make one for it (chronicle token create --replica ${replica})`,
  );
}
