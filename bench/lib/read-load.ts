import { loadProcess } from "./load-process.ts";

/** Reads of one URL by many connections at once, each asking again as soon as it was answered. */
export interface ReadPlan {
  readonly url: string;
  readonly token?: string;
  readonly connections: number;
  readonly seconds: number;
  /** Every answer must have this as its body. */
  readonly expect: string;
}

export interface ReadLoad {
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  /** Milliseconds. */
  readonly p99: number;
}

/** Runs autocannon in a process of its own. Rejects unless every answer was 2xx with the expected body. */
export function readLoad(plan: ReadPlan): Promise<ReadLoad> {
  return loadProcess("read-load-main.ts", plan);
}
