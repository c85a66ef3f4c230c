import type { ReplicaPresenter } from "../../api/replication-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { ReplicaCursors } from "./replica-cursors.ts";

/**
 * Checks whether this presenter may be the replica. The first to present a replica holds it: its id can be read in the
 * history, and anybody else who used it would get its answers, and settle entries that it has not sent. An operator may
 * present any replica, which stays its holder's. Throws `FORBIDDEN` for anybody else, before anything was answered.
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
