import type { StoreLayout } from "../storage/files/layout.ts";
import type { Backends } from "./backends.ts";
import { followOrigin } from "./follow-origin.ts";
import { makeFolders } from "./file-head-keeper.ts";
import { removeTree } from "./remove-tree.ts";
import { SyncTokens } from "./sync-tokens.ts";

/** What a workspace's folder is called until it is whole, and once it is forgotten. Neither is anybody's workspace. */
const UNFINISHED = ".new";
const FORGOTTEN = ".forgotten";

export function unfinishedName(id: string): string {
  return `${id}${UNFINISHED}`;
}

interface Place {
  readonly backends: Backends;
  readonly layout: StoreLayout;
  readonly waitMs: number;
}

/**
 * Takes the store's one lock for workspaces that come, get a name or go, so that of two processes that want the same name
 * one gets it. What a crash has left half made or half removed is cleared away first. Throws `LOCKED`.
 */
export async function withNames<T>({ backends, layout, waitMs }: Place, work: () => Promise<T>): Promise<T> {
  const { disk } = backends;
  makeFolders(disk, layout.workspaces);
  const lock = backends.lock(layout.namesLock);
  try {
    using _held = await lock.exclusive(waitMs);
    for (const { name, kind } of disk.list(layout.workspaces)) {
      const text = name.toString();
      const isLeft = kind === "dir" && (text.endsWith(UNFINISHED) || text.endsWith(FORGOTTEN));
      if (isLeft) removeTree(disk, `${layout.workspaces}/${text}`);
    }
    return await work();
  } finally {
    lock.close();
  }
}

/**
 * Takes a workspace's history away, with what it holds of its origin's and the token for that, once nobody is at work in it:
 * first its name, then all there is. Throws `LOCKED`, also while a process syncs it.
 */
export async function removeWorkspace(
  { backends, layout, waitMs, configFolder }: Place & { readonly configFolder: string },
  id: string,
): Promise<void> {
  const { disk } = backends;
  const { folder, lock: lockPath, upstream } = layout.workspace(id);
  const gone = `${folder}${FORGOTTEN}`;
  using _followed = disk.lstat(upstream.folder) === undefined ? undefined : await followOrigin(backends, upstream);
  const lock = backends.lock(lockPath);
  try {
    using _held = await lock.exclusive(waitMs);
    disk.rename(folder, gone);
    disk.syncFolder(layout.workspaces);
  } finally {
    lock.close();
  }
  new SyncTokens(disk, configFolder).remove(id);
  removeTree(disk, gone);
}
