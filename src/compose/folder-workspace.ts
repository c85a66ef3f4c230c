import type { RootRecord } from "../core/records/workspace-record.ts";
import { placeOfRoot } from "../core/tree/root-place.ts";
import { identityAt, isFolderOf } from "../store/folder-identity.ts";
import type { ListedWorkspace } from "../store/roots-cache.ts";
import { resolved, rootsFrom } from "../store/roots.ts";
import type { StoreParts } from "./open-context.ts";
import { isPresent } from "./workspace-shape.ts";

// This module finds the workspace of a folder.

/** A workspace found for a folder. `movedTo` is the present folder, if the workspace's log records another folder. */
export type FoundWorkspace = ListedWorkspace & { readonly movedTo?: string };

/**
 * Returns the workspace whose folder was moved to this root. If the root is a single file, the file must still have its
 * old name.
 */
export function movedTo(
  parts: StoreParts,
  root: RootRecord,
  all: readonly ListedWorkspace[],
): ListedWorkspace | undefined {
  const { disk } = parts.backends;
  const isLike = ({ single, folders: [old] }: ListedWorkspace): boolean =>
    single ? root.only !== undefined && old?.endsWith(`/${root.only}`) === true : root.only === undefined;
  return all.find((one) => isLike(one) && isFolderOf(disk, root.folder, one) && !isPresent(parts, one));
}

/**
 * Returns the workspace whose folder is bind-mounted at this root. The place that the workspace has recorded stays the
 * same.
 */
export function boundTo(
  { backends: { disk } }: StoreParts,
  { folder, only }: RootRecord,
  all: readonly ListedWorkspace[],
): FoundWorkspace | undefined {
  if (only !== undefined) return undefined;
  const { device, inode } = identityAt(disk, folder);
  const bound = all.find((one) => {
    const [own] = one.folders;
    if (one.single || own === undefined || own === folder || one.inode !== inode || inode === "0") return false;
    const there = identityAt(disk, own);
    return there.device === device && there.inode === inode;
  });
  return bound === undefined ? undefined : { ...bound, movedTo: folder };
}

/** Returns the oldest workspace of which this place is a further root (not the first). */
export function trackedFurther(place: string, all: readonly ListedWorkspace[]): ListedWorkspace | undefined {
  const tracking = all.filter(({ folders }) => folders.slice(1).includes(place));
  return tracking.sort((a, b) => (a.created < b.created ? -1 : 1))[0];
}

/**
 * Calls `of` for `folder` and for each folder above it, until `of` returns a workspace. `folder` is absolute and has no
 * links.
 */
export async function nearestAround(
  { backends: { disk } }: Pick<StoreParts, "backends">,
  folder: string,
  of: (root: RootRecord) => FoundWorkspace | undefined | Promise<FoundWorkspace | undefined>,
): Promise<FoundWorkspace | undefined> {
  for (let at = folder; ; at = at.slice(0, at.lastIndexOf("/")) || "/") {
    const [root] = rootsFrom(disk, { roots: [at] });
    const found = root === undefined ? undefined : await of(root);
    if (found !== undefined || at === "/") return found;
  }
}

/**
 * Returns the id of the workspace that would be opened for a folder; `undefined` if there is none. Also returns
 * `undefined` for a folder that was moved or is bind-mounted, because these cases are decided only when the workspace
 * is opened. `folder` is absolute.
 */
export async function workspaceAround(parts: StoreParts, folder: string): Promise<string | undefined> {
  const all = await parts.roots.list();
  const found = await nearestAround(parts, resolved(parts.backends.disk, folder), (root) => {
    const here = all.find((one) => one.folders[0] === placeOfRoot(root));
    const away = here === undefined ? (movedTo(parts, root, all) ?? boundTo(parts, root, all)) : undefined;
    if (away !== undefined) return { ...away, movedTo: root.folder };
    return here ?? trackedFurther(placeOfRoot(root), all);
  });
  return found?.movedTo === undefined ? found?.id : undefined;
}
