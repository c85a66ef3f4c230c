import { loadProcess } from "./load-process.ts";

/** Subscribers to the events of a workspace, and one client that writes to it. */
export interface EventPlan {
  /** The address of the server. */
  readonly url: string;
  readonly token: string;
  readonly workspace: string;
  readonly subscribers: number;
  readonly writes: number;
  readonly perSecond: number;
}

/** The measured times in milliseconds. */
export interface EventLoad {
  /** From the request of a write until a subscriber has its event. One value for each write and subscriber. */
  readonly fromRequest: readonly number[];
  /** Like `fromRequest`, but from the answer to the write. 0 if the event came before the answer. */
  readonly fromAnswer: readonly number[];
  /** From the request of a write to its answer. One value for each write. */
  readonly writing: readonly number[];
}

/**
 * Runs the subscribers and the client in one process of their own. Rejects unless every subscriber gets every event
 * once, in order.
 */
export function eventLoad(plan: EventPlan): Promise<EventLoad> {
  return loadProcess("event-load-main.ts", plan);
}
