import type { WriteBackAnswer, WriteBackBatch, WriteBackRules } from "../../core/records/write-back.ts";
import { untilSettled } from "../undo/before-change.ts";
import type { Context } from "../log/context.ts";
import { isHosted } from "../log/hosted.ts";
import { decideHosted } from "./write-back-hosted.ts";
import { WriteBackOnDisk } from "./write-back-on-disk.ts";

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
  if (!isHosted(context.worktree.roots)) return new WriteBackOnDisk(context, batch, rules).decide();
  return untilSettled(context, () => decideHosted(context, batch, rules));
}
