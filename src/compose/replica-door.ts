import type { ReplicaDoor } from "../api/replication-api.ts";
import { admitReplica } from "../replication/origin/admit-replica.ts";
import { OriginDoor } from "../replication/origin/origin-door.ts";
import { optionsFor } from "../replication/origin/options-for.ts";
import type { StoreParts } from "./open-context.ts";
import { Origins } from "./origins.ts";

/** Serves replicas from the workspaces of a store. `onError` receives errors of this side. */
export function openDoor(parts: StoreParts, onError: (error: unknown) => void): ReplicaDoor {
  const origins = new Origins(parts, { onError });
  const door = new OriginDoor({
    originOf: async ({ id }, visitor) => {
      const lease = await origins.lease(id);
      const options = optionsFor(lease.options, visitor);
      const admit = (replica: string): void => admitReplica(options.cursors, replica, visitor.presenter);
      return {
        options: { ...options, admit },
        [Symbol.dispose]: () => lease[Symbol.dispose](),
      };
    },
    onError,
  });
  return {
    accept: (connection, visitor) => door.accept(connection, visitor),
    load: () => door.load(),
    close: async () => {
      await door.close();
      await origins[Symbol.asyncDispose]();
    },
  };
}
