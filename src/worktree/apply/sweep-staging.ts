import { errnoOf } from "../../core/values/errors.ts";
import { childOf, decodeName, ROOT, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import { STAGING_FOLDER } from "../../core/tree/staging-folder.ts";
import type { Disk } from "../../disk/disk.ts";
import { ConfinedFs } from "../files/confined-fs.ts";
import { removeTree } from "../files/remove-staged.ts";
import { isToken, type Staging, stagingInRoot, stagingPlaces } from "./staging.ts";
import type { TrackedRoot } from "../worktree.ts";

/**
 * Longer than any staging lasts, in ns by the disk's own clock: a folder that is older than the latest one by this much
 * was left behind.
 */
const LONG_AGO_NS = 24n * 3600n * 1_000_000_000n;

/** The folders in which an apply may stage. */
export interface StagingFolders {
  readonly roots: readonly TrackedRoot[];
  /** The staging folder in the store. */
  readonly candidate: string | undefined;
}

/**
 * Removes what runs left that were interrupted before the log said anything of them. Nobody will ever ask for it, and
 * all that it holds has other names or was never put into place. Called after an apply, when no interrupted operation
 * is open.
 */
export function sweepStaging(disk: Disk, { roots, candidate }: StagingFolders): void {
  for (const root of roots) {
    const clear = (own: string): void => clearPlaces(stagingInRoot({ root }, disk, own));
    sweep(disk, { base: root.folder, folder: STAGING_FOLDER as WorkspacePath, clear });
  }
  if (candidate !== undefined) sweep(disk, { base: candidate, folder: ROOT });
}

/**
 * Removes the met staging folders that have not changed for `LONG_AGO_NS`. Some file systems (btrfs) do not persist a
 * folder and its note in the order in which they were made, so a folder without a note may be left.
 */
export function sweepMet(
  disk: Disk,
  roots: readonly TrackedRoot[],
  { met, nowNs }: { readonly met: Iterable<WorkspacePath>; readonly nowNs: bigint },
): void {
  for (const path of met) {
    const { root: id, path: inner } = splitRoot(path);
    const root = roots.find((one) => one.id === id);
    if (root === undefined) continue;
    using fs = new ConfinedFs(disk, root.folder);
    try {
      const stat = fs.lstat(inner);
      if (stat?.kind === "dir" && nowNs - stat.ctimeNs >= LONG_AGO_NS) removeTree(fs, inner);
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
    }
  }
}

/**
 * Removes what interrupted runs left in the folders that receive files, as noted in the store's staging folder. A
 * workspace runs one operation at a time, so a caller that is about to begin one knows that nobody else needs it.
 */
export function sweepPlaces(disk: Disk, roots: readonly TrackedRoot[], candidate: string | undefined): void {
  for (const staging of stagingsOf(disk, roots, candidate)) clearPlaces(staging);
}

/** True if any run, running or interrupted, has noted something there. */
export function holdsPlaces(disk: Disk, roots: readonly TrackedRoot[], candidate: string | undefined): boolean {
  for (const staging of stagingsOf(disk, roots, candidate)) {
    try {
      if (staging.places.isAnyNoted) return true;
    } finally {
      staging.release();
    }
  }
  return false;
}

function* stagingsOf(disk: Disk, roots: readonly TrackedRoot[], candidate: string | undefined): Generator<Staging> {
  if (candidate === undefined || disk.lstat(candidate)?.kind !== "dir") return;
  for (const { name, kind } of disk.list(candidate)) {
    const [token = "", id] = decodeName(name).split(".", 2);
    const root = roots.find((one) => one.id === id);
    if (kind !== "dir" || root === undefined || !isToken(token)) continue;
    const [staging] = stagingPlaces({ root }, { disk, candidate, token });
    if (staging !== undefined) yield staging;
  }
}

function clearPlaces(staging: Staging): void {
  try {
    staging.places.clear();
  } finally {
    staging.release();
  }
}

interface Place {
  readonly base: string;
  readonly folder: WorkspacePath;
  /** Removes first what the run has left elsewhere. */
  readonly clear?: (own: string) => void;
}

/** Removes the staging folders that were left behind. A folder that cannot be removed is left for the next time. */
function sweep(disk: Disk, { base, folder, clear }: Place): void {
  if (disk.lstat(base)?.kind !== "dir") return;
  using fs = new ConfinedFs(disk, base);
  try {
    const place = fs.lstat(folder);
    if (place?.kind !== "dir") return;
    for (const { name, kind } of fs.list(folder)) {
      const left = childOf(folder, decodeName(name));
      if (kind !== "dir" || place.mtimeNs - (fs.lstat(left)?.mtimeNs ?? place.mtimeNs) < LONG_AGO_NS) continue;
      // Its operation must set back loosened modes first.
      if (fs.lstat(childOf(left, "modes")) !== undefined) continue;
      clear?.(decodeName(name));
      removeTree(fs, left);
    }
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}
