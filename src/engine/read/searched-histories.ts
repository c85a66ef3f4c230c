import type { BlameOriginShape } from "../../api/file-api.ts";
import { isWithin, type WorkspacePath } from "../../core/values/path.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import type { Context } from "../log/context.ts";
import { protectedNames } from "../state/protected.ts";
import { proveRows } from "../state/proved-rows.ts";
import type { LineSource } from "./blame-memo.ts";
import { originShapes } from "./blame-shape.ts";
import { recordedShapes } from "./history.ts";

// This file has what the searches of a text and of a pattern have in common.

/** The maximum size of a content that is searched, in bytes. */
export const MOST_SEARCHED_BYTES = 32 * 1024 ** 2;

/** Returns the iterations of each path at or beneath one of the paths. */
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

/** Returns the paths that have or had the name of a secret, unless a person said that they are none. */
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
  /** The first iteration that can have made the change, if contents between are missing. */
  readonly first?: number;
}

/** Returns the origin of each change, in their order. Throws `IndexDisagrees` unless the log recorded the iterations. */
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
