import { intentOfRequest } from "../../core/records/request-intent.ts";
import { answer } from "../log/answer.ts";
import { untilSettled } from "../undo/before-change.ts";
import type { Context } from "../log/context.ts";
import { isHosted } from "../log/hosted.ts";
import { refuseOverQuota } from "../log/quota.ts";
import type { ReadyWrite } from "./ready-write.ts";
import { answerAgain } from "./write-answer.ts";
import { ofOneWrite, type Outcome } from "./write-batch.ts";
import { writeHosted } from "./write-hosted.ts";
import { writeOnDisk } from "./write-on-disk.ts";
import { withBatch, type BlobBatch } from "../../storage/blob-store.ts";

/**
 * Carries out writes together: their contents become durable with one sync, then their events with one. In their order.
 * While the contents do, it is looked at what is there, and decided what is to be done.
 */
export async function writeTogether(context: Context, writes: readonly ReadyWrite[]): Promise<Outcome[]> {
  using _lease = await context.blobs.lease();
  const outcomes: (Outcome | undefined)[] = [];
  for (const write of writes) outcomes.push(await overQuota(context, write));
  const fitting = writes.filter((_, i) => outcomes[i] === undefined);
  const kept = keepContents(context, fitting);
  const [contents, done] = await Promise.allSettled([kept, whenSettled(context, fitting, kept)]);
  if (contents.status === "rejected") throw contents.reason;
  if (done.status === "rejected") throw done.reason;
  const rest = done.value.values();
  return outcomes.map((one) => one ?? (rest.next().value as Outcome));
}

async function whenSettled(context: Context, writes: readonly ReadyWrite[], kept: Promise<void>): Promise<Outcome[]> {
  if (!isHosted(context.worktree.roots)) return writeOnDisk(context, writes, kept);
  return untilSettled(context, () => writeHosted(context, writes, kept));
}

/**
 * Returns the outcome of a write for want of room: its refusal, or its earlier answer if it was done before, since that
 * stores nothing more.
 */
async function overQuota(context: Context, write: ReadyWrite): Promise<Outcome | undefined> {
  const bytes = write.kind === "put" ? write.content.bytes : undefined;
  if (bytes === undefined) return undefined;
  try {
    refuseOverQuota(context, bytes.length);
    return undefined;
  } catch (error) {
    return (await answeredBefore(context, write)) ?? ofOneWrite(error);
  }
}

async function answeredBefore(context: Context, write: ReadyWrite): Promise<Outcome | undefined> {
  const { requestId } = write.by;
  if (requestId === undefined) return undefined;
  try {
    const again = await answer(context, () => answerAgain(context, intentOfRequest(requestId), write));
    return again === undefined ? undefined : { answer: again };
  } catch (error) {
    return ofOneWrite(error);
  }
}

async function keepContents(context: Context, writes: readonly ReadyWrite[]): Promise<void> {
  const contents = writes.flatMap((write) => (write.kind === "put" ? (write.content.bytes ?? []) : []));
  if (contents.length === 0) return;
  const putAll = async (batch: BlobBatch): Promise<void> => {
    for (const bytes of contents) await batch.put(bytes);
  };
  await withBatch(context.blobs, putAll, { beside: true });
}
