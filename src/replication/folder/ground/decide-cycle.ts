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

/** The states of one path in a folder and at its origin, and the base: the state on which both sides last agreed. */
export interface CyclePath {
  readonly path: WorkspacePath;
  readonly base: SyncBase;
  /**
   * The seq of the origin's last event that an earlier step (reconciliation) has searched for a base of the path. Only
   * later events are searched now.
   */
  readonly judgedTo?: number;
  readonly local: Entry | undefined;
  readonly remote: Entry | undefined;
  /**
   * The origin's last iteration of the path, which can be a deletion. `undefined` if the path never existed at the
   * origin.
   */
  readonly upstream: UpstreamIteration | undefined;
}

/** A decision for which no merge of contents is pending. */
export interface SettledDecision extends PathDecision {
  readonly decision: Settled;
  /** The reason why the folder cannot be deleted at the origin (see `holdFolders`). */
  readonly heldBy?: string;
}

/**
 * Decides about each path with `reconcileTrees`. In every mode, the origin is the preferred side (alpha, see
 * `ReconcileMode`). `paths` must include the folders above each path. If a path is a folder in some of its three
 * states, but not in all, `paths` must also include everything beneath that path.
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
 * True if the parent folder of each entry exists on the entry's side. A parent can be missing while only the first
 * events of a deletion have arrived, because the origin's log has a folder's deletion before the deletions of its
 * contents.
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
 * The setuid, setgid and sticky bits. These bits are recorded, but never set on disk, and comparisons ignore them. For
 * example, a setgid bit that a new folder inherits from the folder above is not sent to the origin.
 */
const NEVER_SET = 0o7000;

/** Returns the entry without the bits of `NEVER_SET`. */
export function settable(entry: Entry | undefined): Entry | undefined {
  return entry === undefined || (entry.mode & NEVER_SET) === 0 ? entry : { ...entry, mode: entry.mode & ~NEVER_SET };
}

export function createdPaths(decisions: readonly SettledDecision[]): WorkspacePath[] {
  return decisions
    .filter(({ sides, decision }) => sides.local === undefined && decision.local !== undefined)
    .map(({ path }) => path);
}

/**
 * Keeps everything at or beneath the paths `collisions` out of the folder, because the names of these paths collide
 * with names in the folder. Each path of `collisions` becomes a conflict. Each path beneath is `held`: both sides keep
 * their states.
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
