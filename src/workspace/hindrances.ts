import type { Change } from "../core/change.ts";
import type { Hash } from "../core/hash.ts";
import type { BlockedPath } from "../worktree/worktree.ts";
import type { Context } from "./context.ts";
import { missingContent } from "./pruning.ts";
import { shownPath } from "./shape.ts";

/**
 * The changes that could not be made now, and why, for a dry run: the content that a path needs is not in the store, or what is
 * on disk is in the way. `made`: contents that are stored only with the real operation.
 */
export async function hindrances(
  context: Context,
  changes: readonly Change[],
  made: readonly Hash[] = [],
): Promise<BlockedPath[]> {
  const gone = await withoutContent(context, changes, new Set(made));
  const left = new Set(gone.map(({ path }) => path));
  const inTheWay = await context.worktree.check(changes.filter(({ path }) => !left.has(path)));
  return [...gone, ...inTheWay];
}

async function withoutContent(
  context: Context,
  changes: readonly Change[],
  made: ReadonlySet<Hash>,
): Promise<BlockedPath[]> {
  const needed = changes.flatMap(({ path, before, after }) => {
    const hash = after?.hash;
    return hash === undefined || hash === before?.hash || made.has(hash) ? [] : [{ path, hash }];
  });
  const stored = await context.blobs.has(needed.map(({ hash }) => hash));
  const gone: BlockedPath[] = [];
  for (const { path, hash } of needed) {
    if (stored.has(hash)) continue;
    const { message } = await missingContent(context, {
      path,
      hash,
      what: `the earlier content of ${shownPath(path)}`,
    });
    gone.push({ path, reason: "content-missing", detail: message });
  }
  return gone;
}
