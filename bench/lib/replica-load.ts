import { loadProcess } from "./load-process.ts";

/** Replicas that hold their content in memory, and a client that writes to their origin. */
export interface ReplicaPlan {
  /** The Unix socket of the origin's server. */
  readonly socket: string;
  readonly workspace: string;
  readonly replicas: number;
  readonly writes: number;
}

/** The outcome of the load. */
export interface ReplicaLoad {
  /** From the request of a write until the last replica held it, in ms; one for each write. */
  readonly latency: readonly number[];
  /** Number of replicas that had the origin's last head at the end. */
  readonly equal: number;
}

/** Runs all of them in one process of their own. */
export function replicaLoad(plan: ReplicaPlan): Promise<ReplicaLoad> {
  return loadProcess("replica-load-main.ts", plan);
}
