import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { erasedAmong } from "./contents-of-history.ts";
import type { Context } from "../log/context.ts";
import { followSettings } from "../log/follow-settings.ts";

/**
 * Returns recorded files that the present rules leave out, and of which the history still has a content: `erase` takes
 * such contents out. Judges by name alone, in path order; reads no content.
 */
export async function leftOutByNow(context: Context): Promise<readonly WorkspacePath[]> {
  await followSettings(context);
  const { seq } = await context.index.head();
  const left = new Set(await context.worktree.leftOut(await context.index.touched(0, seq)));
  const found: WorkspacePath[] = [];
  for (const path of left) {
    const rows = await context.index.iterations(path);
    const hashes = rows.flatMap(({ entry }): Hash[] =>
      entry?.hash === undefined || entry.size === 0 ? [] : [entry.hash],
    );
    const erased = await erasedAmong(context, hashes);
    if (hashes.some((hash) => !erased.has(hash))) found.push(path);
  }
  return found;
}
