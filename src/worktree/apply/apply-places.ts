import { errnoOf } from "../../core/values/errors.ts";
import { childOf, parentOf, type WorkspacePath } from "../../core/values/path.ts";
import type { ApplyContext } from "./apply-ready.ts";
import { releaseRoots, rootsOf, type ApplyRoot, type Step } from "./apply-step.ts";
import { receiversOf } from "../files/folder-places.ts";

// This file chooses where new files are staged.
//
// - A file that is staged in the folder that receives it gets the right group, access control list and security label.
//   Such staging needs a place (`FolderPlaces`) in each receiving folder.
// - In most folders, a new file gets the same attributes as in `staging.fresh`, the staging folder of the apply. Files
//   for these *plain* folders are staged in `staging.fresh`. Staging there costs much less, and does not wake the
//   watchers of the receiving folders. A program (`Disk.makesAlike`) finds the plain folders.
// - The program runs in every apply with more than `FEW` files. The program also runs if files were staged early
//   (`EarlyStage`), because these files already lie in `staging.fresh`. For any other apply, `PlainFolders` gives the
//   answers that it remembers.

/** The number of files for which staging in the receiving folders takes about as long as running the program. */
const FEW = 256;

/** A name that no file has. The system refuses a rename to another mount before it looks for the file. */
const NO_NAME = ".chronicle-not-there";

/**
 * Decides for which folders new files are staged in `staging.fresh`. A file that was staged early for any other folder
 * is staged a second time, in that folder.
 */
export async function choosePlaces(context: ApplyContext, steps: readonly Step[]): Promise<void> {
  const { disk, early, plain: remembered } = context;
  const anew = steps.filter(({ todo, blocked }) => blocked === undefined && (todo === "create" || todo === "replace"));
  const roots = rootsOf(anew);
  remembered.begin();
  releaseRoots(roots);
  for (const root of roots) {
    const folders = receivers(anew, root);
    const isFew = anew.length <= FEW && early === undefined;
    const plain = isFew
      ? await remembered.among({
          root: root.root.folder,
          fs: root.fs,
          folders,
          staging: stagedFilesOf(root),
          stagingRoot: root.staging.fresh.root,
        })
      : await plainFolders(disk, root, folders);
    for (const folder of plain) if (!takesRenames(root, folder)) plain.delete(folder);
    root.staging.places.staysOutOf(plain);
    if (early !== undefined) dropEarly(anew, root, plain);
    // Other tasks may rename a folder before the files are staged, so no folder stays open.
    releaseRoots([root]);
  }
}

/** Tells `PlainFolders` in which folders these steps have changed names. Must be called after all changes. */
export function keepPlaces({ plain }: ApplyContext, steps: readonly Step[]): void {
  const changed = steps.filter(({ todo }) => todo !== "nothing");
  for (const [{ root, fs }, those] of Map.groupBy(changed, (step) => step.root)) {
    plain.keep({ root: root.folder, fs, folders: receiversOf(those.map(({ inner }) => inner)) });
  }
}

/** True if a file can be renamed from `staging.fresh` into a folder. False if another mount lies in between. */
function takesRenames({ fs, staging }: ApplyRoot, folder: WorkspacePath): boolean {
  try {
    staging.fresh.renameFile(childOf(parentOf(staging.newPath("any")), NO_NAME), childOf(folder, NO_NAME), fs);
    return false;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return errnoOf(error) === "ENOENT";
  }
}

/** Returns the absolute path of the folder that holds the files of `staging.fresh`. */
function stagedFilesOf({ staging }: ApplyRoot): string {
  return `${staging.fresh.root}/${parentOf(staging.newPath("any"))}`;
}

/**
 * Removes the files that an interrupted apply has staged in the folders that receive them. Looks into each of these
 * folders, because the notes that list the places (see `FolderPlaces`) may be lost.
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
  root: ApplyRoot,
  folders: ReadonlySet<WorkspacePath>,
): Promise<Set<WorkspacePath>> {
  const named = new Map(
    [...folders].filter((path) => path.isWellFormed()).map((path) => [`${root.root.folder}/${path}`, path]),
  );
  const alike = await disk.makesAlike([...named.keys()], stagedFilesOf(root));
  return new Set([...(alike ?? [])].flatMap((at) => named.get(at) ?? []));
}

/**
 * Drops the early-staged file of each step whose folder is not in `plain`. A new folder counts as `plain` if its parent
 * is plain.
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
