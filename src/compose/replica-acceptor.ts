import type { ReplicaAdmission, ReplicaPresenter, ReplicaAcceptor } from "../api/replication-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { WriteBackBatch, WriteBackEntry } from "../core/records/write-back.ts";
import type { WriteBackTarget } from "../replication/origin/write-back-intake.ts";
import { claimedName } from "../core/records/actor-name.ts";
import type { ReplicaCursors } from "../replication/origin/replica-cursors.ts";
import type { OriginOptions } from "../replication/origin/origin-session.ts";
import { OriginAcceptor } from "../replication/origin/origin-acceptor.ts";
import type { StoreParts } from "./open-context.ts";
import { Origins } from "./origins.ts";

/**
 * Returns the acceptor of replicas. `onError` receives the errors that the operator of the origin's server should know.
 */
export function openAcceptor(parts: StoreParts, onError: (error: unknown) => void): ReplicaAcceptor {
  const origins = new Origins(parts, { onError });
  const acceptor = new OriginAcceptor({
    originOf: async ({ id }, admission) => {
      const lease = await origins.lease(id);
      const options = optionsFor(lease.options, admission);
      const admit = (replica: string): void => admitReplica(options.cursors, replica, admission.presenter);
      return {
        options: { ...options, admit },
        [Symbol.dispose]: () => lease[Symbol.dispose](),
      };
    },
    onError,
  });
  return {
    accept: (connection, admission) => acceptor.accept(connection, admission),
    load: () => acceptor.load(),
    close: async () => {
      await acceptor.close();
      await origins[Symbol.asyncDispose]();
    },
  };
}

/**
 * Returns a target of write-backs that enforces an admission (the rights of a connection). The target refuses all
 * writes of a read-only replica. If the admission names an actor, that name replaces the names of people and of
 * Chronicle in the replica's entries. The actor's name also replaces the name `ambiguous`, because no selection by
 * actor or session would find work under this name.
 */
function admittedWrites(
  target: WriteBackTarget,
  { readOnly, actor }: Pick<ReplicaAdmission, "readOnly" | "actor">,
): WriteBackTarget {
  const named = (entry: WriteBackEntry): WriteBackEntry =>
    actor === undefined || claimedName(entry.actor) === undefined ? entry : { ...entry, actor };
  return {
    settled: (replica) => target.settled(replica),
    reserve: (bytes) => target.reserve(bytes),
    refusal: (entry) => (readOnly ? "read-only" : target.refusal(entry)),
    decide: async (batch: WriteBackBatch) => {
      if (!readOnly) return target.decide({ ...batch, entries: batch.entries.map(named) });
      throw new ChronicleError("READ_ONLY", "this replica's token may only read");
    },
  };
}

/**
 * Throws `FORBIDDEN` if the presenter (the one who has opened the connection) may not act as this replica. The first
 * presenter becomes the holder of the replica. Later, a presenter whose token names the replica becomes its new holder.
 * An operator may also present a replica that somebody else holds. In that case, the holder stays the same. The check
 * is needed because anybody can read the replica's id in the history. Without the check, whoever presents this id would
 * get the replica's answers, and could settle entries that the replica has not sent.
 */
function admitReplica(cursors: ReplicaCursors, replica: string, { id, isOperator, replicas }: ReplicaPresenter): void {
  const holder = cursors.holder(replica);
  if (holder === id) return;
  if (holder === undefined || replicas.includes(replica)) return cursors.hold(replica, id);
  if (isOperator) return;
  throw new ChronicleError(
    "FORBIDDEN",
    `replica ${replica} belongs to another token: use that token, or have the origin's operator make a token for this replica (chronicle token create --replica ${replica})`,
  );
}

type Admitted = Pick<ReplicaAdmission, "readOnly" | "actor" | "presenter">;

/** Returns the options of an origin's session, limited to the rights of an admission. */
export function optionsFor(options: OriginOptions, admission: Admitted): OriginOptions {
  const { writeBack, ...rest } = options;
  const { readOnly } = admission;
  const may = { readOnly, mayHaveSecrets: admission.presenter.isOperator };
  if (writeBack === undefined) return { ...rest, ...may };
  return { ...rest, ...may, writeBack: { ...writeBack, target: admittedWrites(writeBack.target, admission) } };
}
