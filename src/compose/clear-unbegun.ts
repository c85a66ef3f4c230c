import { ChronicleError } from "../core/values/errors.ts";
import { isGraceOver } from "../core/records/tombstone.ts";
import type { StoreParts } from "./open-context.ts";
import { workspaceIds } from "./store-tasks.ts";
import { unfinishedName, withNames } from "../store/workspace-names.ts";

/** The names of all files that a workspace's folder has before anything is recorded. */
const BEFORE_ALL = /^(?:workspace\.json|stat\.cache|whereabouts\.json|(?:index|lock)\.db(?:-wal|-shm|-journal)?)$/;

/**
 * Removes the folders of workspaces whose beginning was cut off (an `init` that was killed), if nothing was ever
 * recorded there and they are older than the grace period. A workspace whose log is gone has a signed head, an index
 * that knows of events, or other files: it stays.
 */
export async function clearUnbegun(parts: StoreParts): Promise<void> {
  for (const id of workspaceIds(parts)) {
    if (!(await isUnbegun(parts, id))) continue;
    await withNames(parts, () => clear(parts, id));
  }
}

/** True if nothing was recorded in the workspace. Cheap for one that has a log. */
async function isUnbegun({ backends, layout, heads }: StoreParts, id: string): Promise<boolean> {
  const { disk } = backends;
  const { folder, log, workspaceJson, index: path } = layout.workspace(id);
  if (backends.hasLog(log) || heads.last(id) !== undefined) return false;
  // This file is written first, and never again; the folder itself changes whenever a process opens the workspace.
  const begun = disk.lstat(workspaceJson) ?? disk.lstat(folder);
  if (begun === undefined || !isGraceOver(Number(begun.mtimeNs / 1_000_000n), backends.now())) return false;
  if (disk.list(folder).some(({ name }) => !BEFORE_ALL.test(name.toString()))) return false;
  const index = await backends.openIndex(path);
  try {
    return (await index.head()).seq === 0;
  } finally {
    await index.close();
  }
}

/** Must be called with the lock of names held. The next holder of that lock clears away what a crash leaves. */
async function clear(parts: StoreParts, id: string): Promise<void> {
  const { backends, layout } = parts;
  const { disk } = backends;
  const lock = await backends.openLock(layout.workspace(id).lock);
  try {
    using _held = await lock.exclusive(0);
    if (!(await isUnbegun(parts, id))) return;
    const aside = layout.workspace(unfinishedName(id)).folder;
    backends.move(layout.workspace(id).folder, aside);
    disk.syncFolder(layout.workspaces);
    backends.removeFolder(aside);
  } catch (error) {
    // Another process uses the workspace after all.
    if (!(error instanceof ChronicleError) || error.code !== "LOCKED") throw error;
  } finally {
    lock.close();
  }
}
