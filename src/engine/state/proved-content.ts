import { displayPath, type WorkspacePath } from "../../core/values/path.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { IndexDisagrees } from "../log/index-disagrees.ts";
import { proveHistories, proveRows } from "./proved-rows.ts";
import { type ProofContext, provedState } from "./proved-state.ts";

/**
 * Throws `IndexDisagrees` unless the log recorded this iteration. With `isLast`, also throws if the path exists now and
 * does not have the state of the iteration.
 */
export async function proveRow(
  context: ProofContext,
  row: IterationRow,
  { isLast }: { readonly isLast: boolean },
): Promise<void> {
  await proveRows(context, [row]);
  if (!isLast) return;
  const state = await provedState(context, (await context.index.head()).seq);
  if ((await state.at(row.path)) !== undefined) await state.prove([row]);
}

/** Throws `IndexDisagrees` if a content has another size than the index says. */
export function refuseSize({ path, entry }: IterationRow, { size }: { readonly size: number }): void {
  if (entry === undefined || entry.size === size) return;
  throw new IndexDisagrees(`the size of ${displayPath(path)}`, { path, size });
}

/**
 * Proves that a path, or an iteration of the path, does not exist. Throws `IndexDisagrees` unless the index has all
 * iterations of the path.
 */
export async function proveHistory(context: ProofContext, path: WorkspacePath): Promise<void> {
  await proveHistories(context, [{ path }], (await context.index.head()).seq);
}
