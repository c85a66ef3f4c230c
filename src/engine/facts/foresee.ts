import type { Change } from "../../core/values/change.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { ApplyRequest, BlockedPath, CheckReport } from "../../worktree/worktree.ts";
import type { Context } from "../log/context.ts";
import { missingContent } from "./pruning.ts";
import { shownPath } from "../log/shape.ts";

/** What a dry run asks of the files. */
export interface Foreseeing extends Pick<ApplyRequest, "changes" | "onBlocked"> {
  /** Contents that are stored only with the real operation. */
  readonly made?: readonly Hash[] | undefined;
}

/**
 * What the changes would come to now, for a dry run: blocked are paths that need a content which is not in the store, and those
 * where what is on disk is in the way.
 */
export async function foresee(context: Context, { changes, onBlocked, made = [] }: Foreseeing): Promise<CheckReport> {
  const gone = await withoutContent(context, changes, new Set(made));
  const left = new Set(gone.map(({ path }) => path));
  const checked = await context.worktree.check({
    changes: changes.filter(({ path }) => !left.has(path)),
    onBlocked,
  });
  const isStopped = gone.length > 0 && onBlocked !== "skip";
  return { applied: isStopped ? [] : checked.applied, blocked: [...gone, ...checked.blocked] };
}

/** The paths that need a content which is not in the store, but for those that are yet to be `made`. */
export async function withoutContent(
  context: Context,
  changes: readonly Change[],
  made: ReadonlySet<Hash> = new Set(),
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
