import type { Change } from "../../core/values/change.ts";
import { childOf, displayPath, type WorkspacePath } from "../../core/values/path.ts";
import { disagreeing, IndexDisagrees } from "../log/index-disagrees.ts";
import { type ProofContext, type ProvedState, provedState, sameStated } from "./proved-state.ts";
import { rootFolders } from "../log/tree.ts";

/**
 * Throws `IndexDisagrees` unless these are all changes from one state to another. Two trees with proved roots show by
 * themselves which paths differ, so this finds changes that the index misses as well as those that it made up.
 */
export async function proveChanges(
  context: ProofContext,
  changes: readonly Change[],
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  await disagreeing(async () => {
    const [before, after] = [await provedState(context, from), await provedState(context, to)];
    await before.prove(changes.map((one) => ({ path: one.path, entry: one.before })));
    await after.prove(changes.map((one) => ({ path: one.path, entry: one.after })));
    const known = new Set(changes.map((one) => one.path));
    const differing = new Set([...before.touched, ...after.touched]);
    if (before.root.seq !== after.root.seq) {
      for (const root of rootFolders(context)) await difference([before, after], root, differing);
    }
    for (const path of differing) {
      if (known.has(path) || sameStated(await before.at(path), await after.at(path))) continue;
      throw new IndexDisagrees(`about ${displayPath(path)}`, { path, from, to });
    }
  });
}

/**
 * Adds the paths beneath a folder that differ between the roots of two states. Folders with the same hash are the same.
 */
async function difference(
  [before, after]: readonly [ProvedState, ProvedState],
  top: WorkspacePath,
  differing: Set<WorkspacePath>,
): Promise<void> {
  const pending = [top];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    const [old, fresh] = [await before.childrenOf(folder), await after.childrenOf(folder)];
    for (const name of new Set([...(old?.keys() ?? []), ...(fresh?.keys() ?? [])])) {
      const [a, b] = [old?.get(name), fresh?.get(name)];
      if (a !== undefined && b !== undefined && a.kind === b.kind && a.mode === b.mode && a.hash === b.hash) continue;
      const path = childOf(folder, name);
      differing.add(path);
      if (a?.kind === "dir" || b?.kind === "dir") pending.push(path);
    }
  }
}
