import { spawn } from "node:child_process";
import { join } from "node:path";

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
export async function eventLoad(plan: EventPlan): Promise<EventLoad> {
  const program = join(import.meta.dirname, "event-load-main.ts");
  const child = spawn(process.execPath, [program, JSON.stringify(plan)], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  for await (const piece of child.stdout) said += String(piece);
  if (said === "") throw new Error("the subscribers failed");
  return JSON.parse(said) as EventLoad;
}
