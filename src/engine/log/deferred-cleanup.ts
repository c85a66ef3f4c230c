import { decodeIntent, type IntentRecord } from "../../core/records/records.ts";
import type { Context } from "./context.ts";
import { readEvent } from "./read-events.ts";

/**
 * What a step of a replica has set aside goes while the next one is prepared, and is gone before that one opens its intent:
 * so a crash leaves the trash of one step at most, whose intent is closed, and it is the last one in the log.
 */

/** Where an intent stages. Those of a replica have one id: a power loss may bring back what an earlier one has cleaned up. */
export function tokenOf({ id, intent }: { readonly id: string; readonly intent: IntentRecord }): string {
  return intent.kind === "replica" ? `${id}-${intent.fromSeq}` : id;
}

/** By worktree, the last step's token. */
const lastTokens = new WeakMap<Context["worktree"], string>();

/** Takes note of a step that is closed, and of which something may be left for now. */
export function deferCleanup(context: Context, token: string): void {
  lastTokens.set(context.worktree, token);
}

/** Waits until nothing is left of the step before, with this intent's id; after a start, what a crash has left of it is removed. */
export async function runCleanup(context: Context, id: string): Promise<void> {
  const token = lastTokens.get(context.worktree) ?? (await tokenInLog(context, id));
  if (token === undefined) return;
  await context.worktree.cleanUp(token);
}

async function tokenInLog(context: Context, id: string): Promise<string | undefined> {
  const row = await context.index.record(`intent:${id}`);
  return row === undefined ? undefined : tokenOf({ id, intent: decodeIntent((await readEvent(context, row)).record) });
}
