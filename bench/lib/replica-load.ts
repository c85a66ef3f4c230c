import { loadProcess } from "./load-process.ts";

/** Replicas that hold everything in memory, and a client that writes to their origin. */
export interface ReplicaPlan {
  /** The path of the Unix socket of the origin's server. */
  readonly socket: string;
  /** The id of the origin. */
  readonly workspace: string;
  readonly replicas: number;
  readonly writes: number;
}

export interface ReplicaLoad {
  /**
   * The time from the request of a write until all replicas have its event, in milliseconds. One value for each write.
   */
  readonly latency: readonly number[];
  /** The number of replicas that have the origin's head at the end. */
  readonly equal: number;
}

/** Runs the replicas and the client in one process of their own. */
export function replicaLoad(plan: ReplicaPlan): Promise<ReplicaLoad> {
  return loadProcess("replica-load-main.ts", plan);
}
