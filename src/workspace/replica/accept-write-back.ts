import type { SettledWriteBack, WriteBackAnswer, WriteBackBatch, WriteBackRules } from "../../core/write-back.ts";
import { decodeWriteBack, writeBackRecordId } from "../../core/write-back-record.ts";
import { withCommit } from "../commit.ts";
import type { Context } from "../context.ts";
import { openIntents, settle } from "../operate.ts";
import { readEvent } from "../read-events.ts";
import { planWriteBack } from "./write-back-plan.ts";

/**
 * Decides about what a replica has written, entry by entry, in one commit: what is based on the present state becomes it,
 * with the attribution that it brings; what is not is kept as a version, and the replica is told (`stale`). Entries that
 * were decided before are answered as before, or, where that is long ago, left out of the answer.
 *
 * The contents are in the store, and kept from the collector until this resolves; then all is durable. Throws `READ_ONLY`,
 * and what a change may throw.
 */
export async function acceptWriteBack(
  context: Context,
  batch: WriteBackBatch,
  rules: WriteBackRules = {},
): Promise<WriteBackAnswer> {
  for (;;) {
    await settle(context);
    const answer = await decideHosted(context, batch, rules);
    if (answer !== undefined) return answer;
  }
}

/** Up to where the entries of a replica are decided, and the answers to its last batch. */
export async function settledWriteBack(context: Context, replica: string): Promise<SettledWriteBack> {
  const row = await context.index.record(writeBackRecordId(replica));
  if (row === undefined) return { upTo: 0, last: { accepted: [], rejected: [] } };
  const { settled, ...last } = decodeWriteBack((await readEvent(context, row)).record);
  return { upTo: settled, last };
}

/** `undefined`: what somebody else has left half done is to be settled first. */
async function decideHosted(
  context: Context,
  batch: WriteBackBatch,
  rules: WriteBackRules,
): Promise<WriteBackAnswer | undefined> {
  return withCommit(context, async (commit) => {
    if ((await openIntents(context)).length > 0) return undefined;
    const settled = await settledWriteBack(context, batch.replica);
    const entries = batch.entries.filter(({ localSeq }) => localSeq > settled.upTo);
    const again = answersTo(settled.last, batch);
    if (entries.length === 0) return again;
    const { seq } = await commit.head();
    const { entries: count, bytes } = await context.worktree.scan({}, () => undefined);
    const planned = await planWriteBack(
      context,
      { ...batch, entries },
      {
        head: seq,
        firstSeq: seq + 1,
        tally: { entries: count, bytes },
        rules,
        barred: new Map(),
        isUnrecordedFolder: async () => false,
      },
    );
    await commit.append([...planned.files, ...planned.records]);
    return joined(again, planned.answer);
  });
}

/** The answers among these that are to entries of the batch. */
function answersTo({ accepted, rejected }: WriteBackAnswer, { entries }: WriteBackBatch): WriteBackAnswer {
  const asked = new Set(entries.map(({ localSeq }) => localSeq));
  return {
    accepted: accepted.filter(({ localSeq }) => asked.has(localSeq)),
    rejected: rejected.filter(({ localSeq }) => asked.has(localSeq)),
  };
}

function joined(first: WriteBackAnswer, second: WriteBackAnswer): WriteBackAnswer {
  return {
    accepted: [...first.accepted, ...second.accepted],
    rejected: [...first.rejected, ...second.rejected],
  };
}
