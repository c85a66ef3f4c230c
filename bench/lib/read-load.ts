import { loadProcess } from "./load-process.ts";

/** Reads of one URL over many connections. Each connection sends its next request as soon as it has an answer. */
export interface ReadPlan {
  readonly url: string;
  /** Default: no token is sent. */
  readonly token?: string;
  readonly connections: number;
  readonly seconds: number;
  /** Every answer must have this as its body. */
  readonly expect: string;
}

export interface ReadLoad {
  /** Answers a second, of all connections together. */
  readonly perSecond: number;
  /** The median of the response times, in milliseconds. */
  readonly p50: number;
  /** The 99th percentile of the response times, in milliseconds. */
  readonly p99: number;
}

/** Runs autocannon in a process of its own. Rejects unless every answer was 2xx with the expected body. */
export function readLoad(plan: ReadPlan): Promise<ReadLoad> {
  return loadProcess("read-load-main.ts", plan);
}
