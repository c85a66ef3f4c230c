import { loadProcess } from "./load-process.ts";

/** Replicas that hold what they get in memory, and somebody who writes to their origin. */
export interface ReplicaPlan {
  /** The Unix socket of the origin's server. */
  readonly socket: string;
  readonly workspace: string;
  readonly replicas: number;
  readonly writes: number;
}

/** What came of it. */
export interface ReplicaLoad {
  /** From the request of a write until the last replica held it, in ms; one for each write. */
  readonly latency: readonly number[];
  /** So many replicas had the origin's last head at the end. */
  readonly equal: number;
}

/** Runs all of them in one process of their own. */
export function replicaLoad(plan: ReplicaPlan): Promise<ReplicaLoad> {
  return loadProcess("replica-load-main.ts", plan);
}
