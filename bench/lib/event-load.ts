import { loadProcess } from "./load-process.ts";

/** Subscribers of a workspace's events, and somebody who writes to it. */
export interface EventPlan {
  readonly url: string;
  readonly token: string;
  readonly workspace: string;
  readonly subscribers: number;
  readonly writes: number;
  readonly perSecond: number;
}

/** Milliseconds; one for each write and subscriber, `writing` one for each write. */
export interface EventLoad {
  /** From the moment the write was sent until the event of its file was there. */
  readonly fromRequest: readonly number[];
  /** From the answer to the write; 0 where the event was faster. */
  readonly fromAnswer: readonly number[];
  readonly writing: readonly number[];
}

/** Runs both in one process of their own. Rejects unless every subscriber got every event, once, in their order. */
export function eventLoad(plan: EventPlan): Promise<EventLoad> {
  return loadProcess("event-load-main.ts", plan);
}
