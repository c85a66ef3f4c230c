import type { Change } from "../../core/values/change.ts";
import { parentOf } from "../../core/values/path.ts";

/**
 * Of changes that the disk shows as done, those that the record can have together: no folder is gone while something stays that lies in
 * it, and nothing has come into a folder that has not. Where somebody exchanges folders, each may have been seen at another moment.
 * `changes` are in order, folders before what they hold.
 */
export function doneTogether<C extends Change>(changes: readonly C[], isDone: (change: C) => boolean): C[] {
  const planned = new Map(changes.map((change) => [change.path, change]));
  const done = new Map(changes.filter(isDone).map((change) => [change.path, change]));
  for (const { path, before } of changes.toReversed()) {
    const above = done.get(parentOf(path));
    const stays = before !== undefined && !done.has(path);
    if (stays && above !== undefined && above.after?.kind !== "dir") done.delete(above.path);
  }
  for (const { path, after } of changes) {
    const above = planned.get(parentOf(path));
    if (after === undefined || above === undefined || above.before?.kind === "dir") continue;
    if (!done.has(above.path)) done.delete(path);
  }
  return [...done.values()];
}
