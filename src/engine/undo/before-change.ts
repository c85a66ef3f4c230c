import type { Context } from "../log/context.ts";
import { interruptedNote, unfinished } from "./interrupted.ts";
import { settle } from "../capture/operate.ts";
import type { BeforeChange } from "../capture/operation-queue.ts";
import { closeAbandoned, listSessions, wordlessEnd } from "../actions/session.ts";
import { orphanNotes } from "../facts/transactions.ts";

/**
 * The steps before every change, in one place: `OperationQueue.change` calls them, operations do not. They finish
 * operations that a crash has interrupted, and close sessions and actions whose process is gone.
 */

/** Finishes what was interrupted, and closes what was abandoned. */
export async function endBefore(context: Context): Promise<BeforeChange> {
  const finished = await settle(context);
  // A run whose process was killed is an operation as well, once it is closed.
  return { finished, closed: await closeAbandoned(context) };
}

/** Returns what `endBefore` would do now. Changes nothing. */
export async function wouldEndBefore(context: Context): Promise<BeforeChange> {
  const finished = await unfinished(context);
  const killed = (await listSessions(context)).filter((one) => one.unclosed === true).map(wordlessEnd);
  return { finished, closed: [...killed, ...(await orphanNotes(context))] };
}

/** Returns notes for people on the interrupted operations that were, or would be, finished first. */
export function finishedNotes({ finished }: BeforeChange, dryRun: boolean): string[] {
  return finished.map((one) => interruptedNote(one, dryRun ? "would first finish" : "finished"));
}

/** Returns notes for people on everything that was, or would be, ended first. */
export function beforeNotes(before: BeforeChange, dryRun: boolean): string[] {
  return [...finishedNotes(before, dryRun), ...before.closed];
}

/**
 * Tries something again until no interrupted operation is in its way: `attempt` resolves to `undefined` if it has met one under
 * the lock.
 */
export async function untilSettled<T>(context: Context, attempt: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const done = await attempt();
    if (done !== undefined) return done;
    await settle(context);
  }
}
