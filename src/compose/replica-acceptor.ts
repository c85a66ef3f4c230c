import type { ReplicaAcceptor } from "../api/replication-api.ts";
import { admitReplica } from "../replication/origin/admit-replica.ts";
import { OriginAcceptor } from "../replication/origin/origin-acceptor.ts";
import { optionsFor } from "../replication/origin/options-for.ts";
import type { StoreParts } from "./open-context.ts";
import { Origins } from "./origins.ts";

/** Serves replicas from the workspaces of a store. `onError` receives errors of this side. */
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
