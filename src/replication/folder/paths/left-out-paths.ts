import type { LeftOutPathShape, NotHeldPathShape } from "../../../api/sync-api.ts";
import { comparePaths, type WorkspacePath } from "../../../core/values/path.ts";
import { exactPath, shownPath } from "../../../engine/log/shape.ts";
import type { SidesOf } from "./git-paths.ts";
import type { NotHeld } from "./not-held-paths.ts";

/** The most paths that are named. */
const MOST_NAMED = 20;

/** Returns the paths that the folder's disk cannot hold, with the reason, as `leftOutPaths` does. */
export function notHeldPaths(notHeld: ReadonlyMap<WorkspacePath, NotHeld>): NotHeldPathShape[] {
  const first = [...notHeld].toSorted(([a], [b]) => comparePaths(a, b)).slice(0, MOST_NAMED);
  return leftOutPaths(new Map(first)).map((one, i) => ({ ...one, why: first[i]?.[1].why ?? "" }));
}

/** Returns the paths that hold an erased content here, as `leftOutPaths` does. */
export function erasedPaths(erased: readonly WorkspacePath[]): LeftOutPathShape[] {
  return leftOutPaths(new Map(erased.map((path) => [path, { here: true, there: false }])));
}

/** Returns the first paths left out of a sync, in path order, and the side that each is on. */
export function leftOutPaths(leftOut: ReadonlyMap<WorkspacePath, SidesOf>): LeftOutPathShape[] {
  const sorted = [...leftOut].toSorted(([a], [b]) => comparePaths(a, b));
  return sorted.slice(0, MOST_NAMED).map(([path, { here, there }]) => ({
    path: shownPath(path),
    ...exactPath(path),
    side: here && there ? "both" : here ? "local" : "upstream",
  }));
}
