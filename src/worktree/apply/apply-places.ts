import { parentOf, type WorkspacePath } from "../../core/values/path.ts";
import type { ApplyContext } from "./apply-ready.ts";
import { releaseRoots, rootsOf, type ApplyRoot, type Step } from "./apply-step.ts";
import { receiversOf } from "../files/folder-places.ts";

/**
 * Chooses where new files are staged. A few are staged in the folders that receive them, as an editor does when it
 * saves: that costs nothing and is right in every folder. For many, a program is asked first in which folders it
 * matters, because each name that comes and goes wakes the folder's watchers, and early-staged files lie in the store.
 */

/** The program that is asked takes about as long as 200 files. */
const FEW = 256;

/**
 * Decides for which folders new files are staged elsewhere. Files that were staged early for the other folders are
 * staged anew.
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

/** Removes what an interrupted run may have left in the folders that it was to change, since its notes may be lost. */
export function clearPlaces(steps: readonly Step[]): void {
  for (const [{ staging }, those] of Map.groupBy(steps, ({ root }) => root)) {
    staging.places.clear(receiversOf(those.filter(({ after }) => after !== undefined).map(({ inner }) => inner)));
  }
}

/** Returns the existing folders that receive new files. */
function receivers(anew: readonly Step[], root: ApplyRoot): Set<WorkspacePath> {
  const made = new Set(anew.filter(({ after }) => after?.kind === "dir").map(({ path }) => path));
  const direct = anew.filter((step) => step.root === root && !made.has(parentOf(step.path)));
  return receiversOf(direct.map(({ inner }) => inner));
}

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

function dropEarly(anew: readonly Step[], root: ApplyRoot, plain: ReadonlySet<WorkspacePath>): void {
  const carried = new Map<WorkspacePath, boolean>();
  for (const step of anew) {
    if (step.root !== root) continue;
    const isPlain = carried.get(parentOf(step.path)) ?? plain.has(parentOf(step.inner));
    if (step.after?.kind === "dir") carried.set(step.path, isPlain);
    if (!isPlain) step.early = undefined;
  }
}
