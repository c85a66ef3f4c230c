import { withCommit } from "../commit/commit.ts";
import type { Context } from "../log/context.ts";
import { refuseGitChanges, refuseGitState } from "./decide-before.ts";
import { announceContent } from "./announce-content.ts";
import { openIntents } from "../capture/operate.ts";
import type { ReadyWrite } from "./ready-write.ts";
import { writeShape } from "./write-answer.ts";
import { isPlanned, ofOneWrite, type Outcome, type PlannedWrite, WriteBatch } from "./write-batch.ts";

/**
 * Writes where there is no folder: one append is all that there is to be done, once their contents are durable (`kept`).
 * `undefined`: what somebody else has left half done is to be settled first.
 */
export async function writeHosted(
  context: Context,
  writes: readonly ReadyWrite[],
  kept: Promise<void>,
): Promise<Outcome[] | undefined> {
  return withCommit(context, async (commit) => {
    if ((await openIntents(context)).length > 0) return undefined;
    const { entries, bytes } = await context.worktree.scan({}, () => undefined);
    const batch = await WriteBatch.begin(context, {
      head: await commit.head(),
      tally: { entries, bytes },
      isUnrecordedFolder: async () => false,
      refuse: refuseGitChanges,
    });
    const outcomes: (Outcome | PlannedWrite)[] = [];
    for (const write of writes) outcomes.push(await planOne(batch, write));
    const [only] = batch.planned;
    if (only !== undefined && batch.planned.length === 1) await announceContent(context, only.write);
    await kept;
    await commit.append(batch.planned.flatMap((one) => one.drafts));
    return outcomes.map((one) => ("drafts" in one ? { answer: writeShape(one.write, one.done) } : one));
  });
}

async function planOne(batch: WriteBatch, write: ReadyWrite): Promise<Outcome | PlannedWrite> {
  try {
    refuseGitState(write);
    const planned = await batch.plan(write);
    return isPlanned(planned) ? planned : { answer: planned };
  } catch (error) {
    return ofOneWrite(error);
  }
}
