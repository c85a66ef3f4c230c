import { parentOf, type WorkspacePath } from "../../core/values/path.ts";
import type { ApplyContext } from "./apply-ready.ts";
import { releaseRoots, rootsOf, type ApplyRoot, type Step } from "./apply-step.ts";
import { receiversOf } from "../files/folder-places.ts";

// This file chooses where new files are staged. Up to `FEW` files are staged in the folders that receive them, where
// they get the right group, access control list and security label. More files than that would wake the watchers of
// these folders too often. Files that were staged early (`EarlyStage`) already lie in `staging.fresh`. In these two
// cases, `Disk.makesAlike` runs a program. The program finds the folders in which a new file gets the same attributes
// as in `staging.fresh`. Files for the found folders are staged in `staging.fresh`, and files for all other folders are
// staged in the folders themselves.

/**
 * Up to this number of new files, the program runs only if files were staged early. Running the program takes about as
 * long as staging 200 files in their folders.
 */
const FEW = 256;

/**
 * Decides for which folders new files are staged in `staging.fresh`. A file that was staged early for any other folder
 * is staged a second time, in that folder.
 */
export async function choosePlaces({ disk, early }: ApplyContext, steps: readonly Step[]): Promise<void> {
  const anew = steps.filter(({ todo, blocked }) => blocked === undefined && (todo === "create" || todo === "replace"));
  if (anew.length <= FEW && early === undefined) return;
  const roots = rootsOf(anew);
  releaseRoots(roots);
  for (const root of roots) {
    const plain = await plainFolders(disk, root, receivers(anew, root));
    root.staging.places.staysOutOf(plain);
    dropEarly(anew, root, plain);
  }
}

/**
 * Removes the files that an interrupted apply has staged in the folders that receive them. Looks into each of these
 * folders, because the notes of the places may be lost.
 */
export function clearPlaces(steps: readonly Step[]): void {
  for (const [{ staging }, those] of Map.groupBy(steps, ({ root }) => root)) {
    staging.places.clear(receiversOf(those.filter(({ after }) => after !== undefined).map(({ inner }) => inner)));
  }
}

/** Returns the folders of a root that receive new files and exist already. */
function receivers(anew: readonly Step[], root: ApplyRoot): Set<WorkspacePath> {
  const made = new Set(anew.filter(({ after }) => after?.kind === "dir").map(({ path }) => path));
  const direct = anew.filter((step) => step.root === root && !made.has(parentOf(step.path)));
  return receiversOf(direct.map(({ inner }) => inner));
}

/** Returns the folders, among the given ones, in which a new file gets the same attributes as in `staging.fresh`. */
async function plainFolders(
  disk: ApplyContext["disk"],
  { root, staging }: ApplyRoot,
  folders: ReadonlySet<WorkspacePath>,
): Promise<ReadonlySet<WorkspacePath>> {
  const named = new Map(
    [...folders].filter((path) => path.isWellFormed()).map((path) => [`${root.folder}/${path}`, path]),
  );
  const alike = await disk.makesAlike([...named.keys()], `${staging.fresh.root}/${parentOf(staging.newPath("any"))}`);
  return new Set([...(alike ?? [])].flatMap((at) => named.get(at) ?? []));
}

/**
 * Drops the early-staged file of each step whose folder is not in `plain`. A new folder counts as `plain` if its parent
 * does.
 */
function dropEarly(anew: readonly Step[], root: ApplyRoot, plain: ReadonlySet<WorkspacePath>): void {
  const carried = new Map<WorkspacePath, boolean>();
  for (const step of anew) {
    if (step.root !== root) continue;
    const isPlain = carried.get(parentOf(step.path)) ?? plain.has(parentOf(step.inner));
    if (step.after?.kind === "dir") carried.set(step.path, isPlain);
    if (!isPlain) step.early = undefined;
  }
}
