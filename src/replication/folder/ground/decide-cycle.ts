import { sameEntry, type Entry } from "../../../core/values/entry.ts";
import type { UpstreamIteration } from "../../../core/values/file-record.ts";
import { isRoot, isWithin, parentOf, type WorkspacePath } from "../../../core/values/path.ts";
import {
  reconcileTrees,
  type PathDecision,
  settle,
  type ReconcileMode,
  type Settled,
} from "../../../core/tree/reconcile.ts";
import type { SyncBase } from "../../../core/tree/upstream-change.ts";

/** One path in a folder and its origin, and the state that both last agreed on. */
export interface CyclePath {
  readonly path: WorkspacePath;
  readonly base: SyncBase;
  /**
   * The path's event at the origin up to which the base was already judged. Earlier events are not searched for a base
   * again.
   */
  readonly judgedTo?: number;
  readonly local: Entry | undefined;
  readonly remote: Entry | undefined;
  /** The origin's last iteration of the path, which may be a deletion; `undefined` if the path never existed there. */
  readonly upstream: UpstreamIteration | undefined;
}

/** A decision that needs no further input, because its contents were merged or need no merge. */
export interface SettledDecision extends PathDecision {
  readonly decision: Settled;
  /** The reason why the folder cannot be deleted at the origin (see `holdFolders`). */
  readonly heldBy?: string;
}

/**
 * Decides by `core/tree/reconcile.ts`. The origin is alpha in every mode. The paths must be complete: they must include
 * the folders above each path, and everything in a folder that is not a folder on all three sides.
 */
export function decideCycle(paths: readonly CyclePath[], mode: ReconcileMode): PathDecision[] {
  const present = (of: (path: CyclePath) => Entry | undefined): Entry[] => paths.flatMap((path) => of(path) ?? []);
  const trees = {
    base: present(({ base }) => settable(base.entry)),
    local: present(({ local }) => settable(local)),
    remote: present(({ remote }) => settable(remote)),
  };
  return reconcileTrees(trees, { mode, alpha: "remote" });
}

/**
 * True if the parent folder of each entry exists on the entry's side. A parent may be missing while only a part of a
 * commit of the origin has arrived: the deletion of a folder arrives a moment before the deletions of its contents.
 */
export function areWhole(paths: readonly CyclePath[]): boolean {
  const sides = new Map(paths.map((one) => [one.path, one]));
  return paths.every(({ path, local, remote }) => {
    const folder = parentOf(path);
    const above = isRoot(folder) ? undefined : sides.get(folder);
    if (above === undefined) return true;
    const isLocalWhole = local === undefined || above.local?.kind === "dir";
    return isLocalWhole && (remote === undefined || above.remote?.kind === "dir");
  });
}

/**
 * The setuid, setgid and sticky bits. They are recorded, but never set on disk, so no copy gets them from another one.
 * Inherited bits of a folder are no difference, and are not sent to an origin.
 */
const NEVER_SET = 0o7000;

export function settable(entry: Entry | undefined): Entry | undefined {
  return entry === undefined || (entry.mode & NEVER_SET) === 0 ? entry : { ...entry, mode: entry.mode & ~NEVER_SET };
}

export function createdPaths(decisions: readonly SettledDecision[]): WorkspacePath[] {
  return decisions
    .filter(({ sides, decision }) => sides.local === undefined && decision.local !== undefined)
    .map(({ path }) => path);
}

/**
 * Keeps everything at or beneath these paths out of the folder, which cannot hold their names beside its own. They are
 * conflicts with the reason `collision` until one of the two names is changed.
 */
export function holdCollisions(
  decisions: readonly SettledDecision[],
  collisions: readonly WorkspacePath[],
): SettledDecision[] {
  if (collisions.length === 0) return [...decisions];
  return decisions.map((one) => {
    const top = collisions.find((path) => isWithin(one.path, path));
    if (top === undefined || one.decision.local === undefined || sameEntry(one.decision.local, one.sides.local))
      return one;
    const stays = settle(one.sides, one.sides);
    return { ...one, decision: { ...stays, action: one.path === top ? "conflict" : "held" } };
  });
}
