import type { BlameOriginShape } from "../../api/file-api.ts";
import { isWithin, type WorkspacePath } from "../../core/values/path.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import type { Context } from "../log/context.ts";
import { protectedNames } from "../state/protected.ts";
import { proveRows } from "../state/proved-rows.ts";
import type { LineSource } from "./blame-memo.ts";
import { originShapes } from "./blame-shape.ts";
import { recordedShapes } from "./history.ts";

// This file has the common parts of two searches: for a text (`text-history.ts`) and for a pattern (`grep.ts`).

/** The maximum size, in bytes, of a content that is searched. */
export const MOST_SEARCHED_BYTES = 32 * 1024 ** 2;

/** Returns the iterations of each path at or beneath one of the given paths. */
export async function historiesOf(
  context: Context,
  beneath: readonly WorkspacePath[],
): Promise<Map<WorkspacePath, readonly IterationRow[]>> {
  const { index } = context;
  const touched = await index.touched(-1, (await index.head()).seq);
  const histories = new Map<WorkspacePath, readonly IterationRow[]>();
  for (const path of touched)
    if (beneath.some((folder) => isWithin(path, folder))) histories.set(path, await index.iterations(path));
  return histories;
}

/**
 * Returns those of the paths that have the name of a secret, or had the name of a secret when they were recorded. If a
 * person has decided about a name, only this decision counts.
 */
export async function secretPaths(
  context: Context,
  paths: readonly WorkspacePath[],
): Promise<ReadonlySet<WorkspacePath>> {
  const names = await protectedNames(context);
  const recorded = new Set(await context.index.protectedPaths());
  return new Set(paths.filter((path) => names.added(path) ?? (recorded.has(path) || names.holds(path))));
}

/** An iteration that made a change. */
export interface FoundChange {
  readonly row: IterationRow;
  /**
   * The number of the first iteration that can have made the change. Set only if contents right before `row` are
   * missing or were not searched.
   */
  readonly first?: number;
}

/**
 * Returns the origins of the changes, in the order of the changes. Throws `IndexDisagrees` if the log does not prove
 * the iterations.
 */
export async function changeOrigins(context: Context, changes: readonly FoundChange[]): Promise<BlameOriginShape[]> {
  await proveRows(
    context,
    changes.map(({ row }) => row),
  );
  const sources: LineSource[] = [];
  for (const { row, first } of changes) {
    const [shape] = await recordedShapes(context, row.path, [row]);
    const how = first === undefined ? { kind: "iteration" as const } : { kind: "between" as const, first };
    if (shape !== undefined) sources.push({ ...how, shape, path: row.path });
  }
  return originShapes(context, sources);
}
