import { decodeIntent, type IntentRecord } from "../../core/records/records.ts";
import type { Context } from "./context.ts";
import { readEvent } from "./read-events.ts";
import { memoKey } from "./memo.ts";

/**
 * A replica's step leaves its set-aside files to be removed while the next step is prepared; they are gone before that
 * step opens its intent. So a crash leaves the trash of one step at most, whose intent is closed and is the last one in
 * the log.
 */

/**
 * Returns the token under which an intent stages. The intents of a replica share one id, so their token has the seq
 * too: a power loss may bring back what an earlier one has cleaned up.
 */
export function tokenOf({ id, intent }: { readonly id: string; readonly intent: IntentRecord }): string {
  return intent.kind === "replica" ? `${id}-${intent.fromSeq}` : id;
}

/** The last step's token. */
const lastTokens = memoKey<string>("token of the last step");

/** Notes a closed step of which some files may be left for now. */
export function deferCleanup(context: Context, token: string): void {
  context.memo.set(lastTokens, token);
}

/**
 * Waits until nothing is left of the previous step with this intent's id; after a start, removes what a crash has left
 * of it.
 */
export async function runCleanup(context: Context, id: string): Promise<void> {
  const token = context.memo.get(lastTokens) ?? (await tokenInLog(context, id));
  if (token === undefined) return;
  await context.worktree.cleanUp(token);
}

async function tokenInLog(context: Context, id: string): Promise<string | undefined> {
  const row = await context.index.record(`intent:${id}`);
  return row === undefined ? undefined : tokenOf({ id, intent: decodeIntent((await readEvent(context, row)).record) });
}
