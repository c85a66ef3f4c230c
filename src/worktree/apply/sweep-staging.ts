import { errnoOf } from "../../core/values/errors.ts";
import { childOf, decodeName, ROOT, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import { STAGING_FOLDER } from "../../core/tree/staging-folder.ts";
import type { Disk } from "../../disk/disk.ts";
import { ConfinedFs } from "../files/confined-fs.ts";
import { removeTree } from "../files/remove-staged.ts";
import { isToken, type Staging, stagingInRoot, stagingPlaces } from "./staging.ts";
import type { TrackedRoot } from "../worktree.ts";

/** Nothing is staged for so long, in ns by the disk's own clock: what is older than the last to come there was left. */
const LONG_AGO_NS = 24n * 3600n * 1_000_000_000n;

/** Where an apply may stage. */
export interface StagingFolders {
  readonly roots: readonly TrackedRoot[];
  /** The folder in the store. */
  readonly candidate: string | undefined;
}

/**
 * Removes what runs have left that were cut off before anything stood of them in the log: nobody else will ever ask for it,
 * and all that it holds has other names, or was never put into place. With nothing interrupted open, after an apply.
 */
export function sweepStaging(disk: Disk, { roots, candidate }: StagingFolders): void {
  for (const root of roots) {
    const clear = (own: string): void => clearPlaces(stagingInRoot({ root }, disk, own));
    sweep(disk, { base: root.folder, folder: STAGING_FOLDER as WorkspacePath, clear });
  }
  if (candidate !== undefined) sweep(disk, { base: candidate, folder: ROOT });
}

/**
 * Removes those of the folders in which applies stage that nothing has come to for so long. Not every file system keeps the note of one
 * in the order in which both were made (btrfs), so that one may stay of which nothing is known.
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
 * Removes what runs that were cut off have left in the folders that were to receive something, for the store's own staging folder: one
 * operation of a workspace goes on at a time, so whoever is about to begin one knows that nobody else needs it.
 */
export function sweepPlaces(disk: Disk, roots: readonly TrackedRoot[], candidate: string | undefined): void {
  for (const staging of stagingsOf(disk, roots, candidate)) clearPlaces(staging);
}

/** Have runs noted anything there, whether they go on or were cut off? */
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
  /** Removes first what it has left elsewhere. */
  readonly clear?: (own: string) => void;
}

/** What cannot be removed is left for the next time. */
function sweep(disk: Disk, { base, folder, clear }: Place): void {
  if (disk.lstat(base)?.kind !== "dir") return;
  using fs = new ConfinedFs(disk, base);
  try {
    const place = fs.lstat(folder);
    if (place?.kind !== "dir") return;
    for (const { name, kind } of fs.list(folder)) {
      const left = childOf(folder, decodeName(name));
      if (kind !== "dir" || place.mtimeNs - (fs.lstat(left)?.mtimeNs ?? place.mtimeNs) < LONG_AGO_NS) continue;
      // Modes that were loosened for the moment are to be set back first: that is its operation's business.
      if (fs.lstat(childOf(left, "modes")) !== undefined) continue;
      clear?.(decodeName(name));
      removeTree(fs, left);
    }
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}
