import type { EventDraft } from "../../core/values/event.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { WriteBackAnswer, WriteBackBatch, WriteBackRules } from "../../core/records/write-back.ts";
import { withCommit } from "../commit/commit.ts";
import type { Context } from "../log/context.ts";
import { writtenDraft } from "../commit/operation-drafts.ts";
import { openIntents } from "../capture/operate.ts";
import { WriteState } from "../write/write-state.ts";
import { openWriteBack } from "./settled-write-back.ts";
import { answerOf } from "./write-back-answer.ts";
import { planWriteBack, type TakenEntry } from "./write-back-plan.ts";
import { writtenBy } from "./written-states.ts";

/**
 * Decides about a batch where there is no folder: one append. A crash may leave its first events, each of which leaves the
 * files whole; the replica, which has no answer, sends the batch again. `undefined`: what somebody else has left half done is
 * to be settled first.
 */
export async function decideHosted(
  context: Context,
  given: WriteBackBatch,
  rules: WriteBackRules,
): Promise<WriteBackAnswer | undefined> {
  return withCommit(context, async (commit) => {
    if ((await openIntents(context)).length > 0) return undefined;
    const { batch, earlier, going } = await openWriteBack(context, given);
    const last = batch.entries.at(-1);
    if (last === undefined) return earlier;
    const { seq: head } = await commit.head();
    const tally = await context.worktree.scan({}, () => undefined);
    const isUnrecordedFolder = async (): Promise<boolean> => false;
    const planned = await planWriteBack(context, batch, {
      head,
      tally,
      rules,
      barred: new Map(),
      isUnrecordedFolder,
      going,
    });
    const { replica } = batch;
    const files = await draftsOf(context, { replica, head, taken: planned.taken });
    const { answer, records } = answerOf({ replica, planned, last, files, firstSeq: head + 1, earlier, going });
    await commit.append([...files, ...records]);
    return answer;
  });
}

async function draftsOf(
  context: Context,
  { replica, head, taken }: { readonly replica: string; readonly head: number; readonly taken: readonly TakenEntry[] },
): Promise<EventDraft[]> {
  const state = new WriteState(context.index, head);
  const iterations = new Map<WorkspacePath, number>();
  const drafts: EventDraft[] = [];
  for (const { entry, changes } of taken) {
    for (const { path, after } of changes) {
      const iteration = (iterations.get(path) ?? (await state.at(path)).iteration) + 1;
      iterations.set(path, iteration);
      drafts.push(writtenDraft(path, writtenBy(replica, entry, after), iteration));
    }
  }
  return drafts;
}
