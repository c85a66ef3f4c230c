import type { Change } from "../../core/values/change.ts";
import { parentOf } from "../../core/values/path.ts";

/**
 * Returns the changes that are done on disk and that the record can hold together: no folder is gone while its contents
 * stay, and nothing is in a folder that was not made. If somebody exchanges folders, each path may have been seen at
 * another moment. `changes` are in path order, folders before their contents.
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
