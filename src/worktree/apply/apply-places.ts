import { parentOf, type WorkspacePath } from "../../core/values/path.ts";
import type { ApplyContext } from "./apply-ready.ts";
import { releaseRoots, rootsOf, type ApplyRoot, type Step } from "./apply-step.ts";
import { receiversOf } from "../files/folder-places.ts";

/**
 * Where new files are staged: a few in the folders that receive them, which costs nothing and is right in all of them, as in an
 * editor that saves. Of many it is asked first in which folders that matters, because each name that comes and goes in a folder
 * wakes whoever watches it, and because what was staged early lies in the store.
 */

/** A program is asked for more; it takes about as long as 200 files. */
const FEW = 256;

/** Decides of which folders new files are staged elsewhere. What was staged early for the others is staged anew. */
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

/** Removes what an interrupted run may have left in the folders that it was to change: its notes may be lost. */
export function clearPlaces(steps: readonly Step[]): void {
  for (const [{ staging }, those] of Map.groupBy(steps, ({ root }) => root)) {
    staging.places.clear(receiversOf(those.filter(({ after }) => after !== undefined).map(({ inner }) => inner)));
  }
}

/** The folders that are there and get something. */
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
