import { posix } from "node:path";
import {
  actionTargets,
  type ActionTargets,
  type TargetPayload,
  type TargetRoot,
} from "../../core/records/action-targets.ts";
import { isIn, placeOfRoot } from "../../core/tree/root-place.ts";
import type { OutsideFiles } from "../../worktree/outside-files.ts";
import type { Context } from "../log/context.ts";

const NOT_FROM_HERE = "whoever asks may touch nothing outside of the workspace";

/**
 * Files outside as somebody elsewhere sees them, who was let into the workspace and not into the machine: nothing is looked
 * at, not even to follow a link, and nothing is replaced. What an action names there is told as not kept. What lies within the
 * tracked places is the workspace's own (a repository's state, a link that stays inside), and is read for everybody in it.
 * The place of a single file is the file: the folder around it is outside.
 */
export function closedOutside(outside: OutsideFiles, roots: readonly TargetRoot[]): OutsideFiles {
  const places = roots.map(placeOfRoot);
  const isInside = (absolute: string): boolean => places.some((place) => isIn(absolute, place));
  return {
    home: outside.home,
    isClosed: true,
    // For a path outside, the answer would tell where the store lies; such a path is never read anyway.
    isOwn: (path, deep) => isInside(`/${path}`) && outside.isOwn(path, deep),
    resolve(absolute) {
      const asGiven = { name: absolute, end: absolute };
      if (!isInside(absolute)) return asGiven;
      const real = outside.resolve(absolute);
      return isInside(real.name) && isInside(real.end) ? real : asGiven;
    },
    look: (path, request) =>
      request.isInside === true && isInside(`/${path}`)
        ? outside.look(path, request)
        : Promise.resolve({ found: [], omitted: [{ path, reason: "unreadable", detail: NOT_FROM_HERE }] }),
    replace: () => Promise.resolve(NOT_FROM_HERE),
  };
}

/**
 * Returns the paths that an action is about to touch. For a remote caller relative paths begin at the roots as if these
 * lay at the top of the machine, so that a path that leads out tells no more than what was given: `../x` is `/x`, and
 * `~/x` is `/~/x`.
 */
export function targetsFor({ worktree, outside }: Context, type: string, payload: TargetPayload): ActionTargets {
  const { home, isClosed } = outside;
  const { roots } = worktree;
  if (isClosed !== true) return actionTargets(type, payload, { roots, home });
  // A path that is given as an absolute one still lies in the workspace where it names it.
  const named = actionTargets(type, payload, { roots: [...atTheTop(roots), ...roots], home });
  if (named.kind === "none" || payload.command === undefined || home === undefined) return named;
  const told = (path: string): string =>
    path === home || path.startsWith(`${home}/`) ? `/~${path.slice(home.length)}` : path;
  return { ...named, outside: named.outside.map(told), outsideDeep: named.outsideDeep.map(told) };
}

/** The roots as they lie to each other, without the folders above all of their places. */
function atTheTop(roots: readonly TargetRoot[]): TargetRoot[] {
  const [first = "", ...others] = roots.map(placeOfRoot);
  let above = posix.dirname(first);
  while (above.length > 1 && others.some((one) => !one.startsWith(`${above}/`))) above = posix.dirname(above);
  if (above.length <= 1) return [];
  return roots.map((root) => ({ ...root, folder: root.folder.slice(above.length) || "/" }));
}
