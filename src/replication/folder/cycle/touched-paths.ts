import { sameEntry } from "../../../core/values/entry.ts";
import { comparePaths, type WorkspacePath } from "../../../core/values/path.ts";
import type { IterationRow } from "../../../storage/index-store.ts";
import { withBreaths } from "../../../util/yield-to-event-loop.ts";
import type { FileHistory } from "./read-cycle.ts";
import { settable } from "../ground/decide-cycle.ts";

/**
 * Returns, in path order, the paths whose entries differ between two histories. Each history is read as of its own seq.
 */
export async function differingPaths(
  [a, atA]: readonly [FileHistory, number],
  [b, atB]: readonly [FileHistory, number],
): Promise<WorkspacePath[]> {
  const found: WorkspacePath[] = [];
  const left = rowsOf(a.entriesAt(atA));
  const right = rowsOf(b.entriesAt(atB));
  let [one, other] = [await left.next(), await right.next()];
  while (one.done !== true || other.done !== true) {
    const order = orderOf(one.value, other.value);
    const isAlike = order === 0 && sameEntry(settable(one.value?.entry), settable(other.value?.entry));
    const path = (order <= 0 ? one.value : other.value)?.path;
    if (!isAlike && path !== undefined && path !== "") found.push(path);
    if (order <= 0) one = await left.next();
    if (order >= 0) other = await right.next();
  }
  return found;
}

/** Compares the paths of two rows. `undefined` stands for a history without further rows, and sorts last. */
function orderOf(a: IterationRow | undefined, b: IterationRow | undefined): number {
  if (a === undefined) return 1;
  return b === undefined ? -1 : comparePaths(a.path, b.path);
}

async function* rowsOf(batches: AsyncIterable<readonly IterationRow[]>): AsyncGenerator<IterationRow, undefined> {
  for await (const rows of withBreaths(batches)) yield* rows;
  return undefined;
}

/**
 * The paths that a step (one reconciliation of a folder with its origin) has written into the folder. Such a path needs
 * no comparison until it changes again.
 */
export interface JustDone {
  readonly paths: ReadonlySet<WorkspacePath>;
  /** The seq of the last event of the folder's own log that the step has recorded. */
  readonly upTo: number;
}

/** Returns the given paths without the paths that the step `done` has written and that have not changed since. */
export async function withoutOwn(
  own: FileHistory,
  paths: readonly WorkspacePath[],
  { done, local }: { readonly done: JustDone | undefined; readonly local: number },
): Promise<WorkspacePath[]> {
  if (done === undefined || done.paths.size === 0) return [...paths];
  const { upTo } = done;
  const named = paths.filter((path) => done.paths.has(path));
  const rows = await own.iterationsAt(named, local);
  const same = new Set(named.filter((_, i) => (rows[i]?.seq ?? Infinity) <= upTo));
  return paths.filter((path) => !same.has(path));
}
