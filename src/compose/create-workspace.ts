import { ChronicleError } from "../core/values/errors.ts";
import { isGraceOver } from "../core/records/tombstone.ts";
import { type StoreParts, openContext } from "./open-context.ts";
import { workspaceIds, storeTasks } from "./store-tasks.ts";
import { unfinishedName, withNames, writeWorkspaceFile } from "../store/workspace-file.ts";
import type { CreateOptions } from "../api/store-api.ts";
import { DEFAULT_LIMITS, EVERYTHING } from "../core/filter/filter.ts";
import { FORMAT_VERSION, type WorkspaceRecord, isWorkspaceName } from "../core/records/workspace-record.ts";
import { beginHosted, type Seed } from "../engine/capture/baseline.ts";
import type { ForkSource } from "../engine/undo/fork.ts";
import { listedWorkspace, type RootsCache } from "../store/roots-cache.ts";
import { optional } from "../util/optional.ts";

/** The seq of the event with the workspace's own record. */
const FIRST_EVENT = 1;

interface NewWorkspace extends Pick<CreateOptions, "name"> {
  readonly source?: ForkSource | undefined;
}

/**
 * Throws `USAGE` for a text that cannot be a name. `otherwise`: how to give another name, if the user has not typed
 * this name. The hint begins with this text.
 */
export function checkName(name: string, otherwise?: string): void {
  if (isWorkspaceName(name)) return;
  const rule = "use 1 to 128 letters, digits and . _ : @ -, beginning with a letter, a digit, _ or @";
  throw new ChronicleError("USAGE", `${JSON.stringify(name.slice(0, 200))} cannot be the name of a workspace`, {
    hint: otherwise === undefined ? rule : `${otherwise}: ${rule}`,
  });
}

/**
 * Makes a workspace without a folder, and returns its id. Builds the workspace's folder under a temporary name and then
 * renames the folder. A crash therefore leaves a complete workspace or none. Throws `REFUSED` if the name is taken.
 */
export async function createWorkspace(parts: StoreParts, cache: RootsCache, wanted: NewWorkspace): Promise<string> {
  const { backends, layout } = parts;
  const { name, source } = wanted;
  return withNames(parts, async () => {
    if (name !== undefined) refuseTaken(await cache.list(), name);
    const id = backends.newId();
    const record = recordOf(wanted, new Date(backends.now()).toISOString());
    await build(parts, id, record, seedOf(source));
    backends.move(layout.workspace(unfinishedName(id)).folder, layout.workspace(id).folder);
    backends.disk.syncFolder(layout.workspaces);
    cache.note(listedWorkspace(id, record, FIRST_EVENT));
    return id;
  });
}

/** Throws `REFUSED` if `name` is the name or the id of a workspace. `hint`: how to choose another name. */
export function refuseTaken(
  all: readonly { readonly id: string; readonly name?: string }[],
  name: string,
  hint = "choose another name, or use that workspace",
): void {
  const taken = all.find((one) => one.name === name || one.id === name);
  if (taken === undefined) return;
  throw new ChronicleError("REFUSED", `there is a workspace ${JSON.stringify(name)} already`, {
    hint,
    data: { name, workspace: taken.id },
  });
}

function recordOf({ name, source }: NewWorkspace, created: string): WorkspaceRecord {
  const only = { id: null, folder: "", filter: EVERYTHING, limits: DEFAULT_LIMITS };
  return {
    format: FORMAT_VERSION,
    created,
    roots: source?.roots ?? [only],
    device: "0",
    inode: "0",
    ...optional({ name }),
    ...(source?.protectedNames === undefined ? {} : { protectedNames: source.protectedNames }),
    ...(source === undefined ? {} : { from: source.origin }),
  };
}

function seedOf(source: ForkSource | undefined): Seed {
  if (source === undefined) return { entries: [] };
  const { entries, erasures, origin, label } = source;
  return { entries, erasures, message: `forked from ${origin.workspace} at ${label}` };
}

/** Builds the workspace in a folder that no other process reads. The index is temporary and in memory. */
async function build(parts: StoreParts, id: string, record: WorkspaceRecord, seed: Seed): Promise<void> {
  const { backends, layout } = parts;
  const aside: StoreParts = {
    ...parts,
    backends: { ...backends, openIndex: async () => backends.scratchIndex() },
    layout: { ...layout, workspace: (one) => layout.workspace(unfinishedName(one)) },
  };
  const files = aside.layout.workspace(id);
  backends.disk.makeFolder(files.folder, 0o700);
  writeWorkspaceFile(backends.disk, files.workspaceJson, id);
  const opened = await openContext(aside, id, { roots: record.roots, tasks: storeTasks(aside, id) });
  try {
    await beginHosted(opened.context, record, seed);
  } finally {
    await opened.close();
  }
}

/** Matches the names of files that a workspace's folder can contain before anything is recorded. */
const BEFORE_ALL = /^(?:workspace\.json|stat\.cache|whereabouts\.json|(?:index|lock)\.db(?:-wal|-shm|-journal)?)$/;

/**
 * Removes the folders of interrupted `init` commands once they are older than the grace period. Nothing was ever
 * recorded in such a folder. Keeps a workspace that has lost its log. Such a workspace has a signed head, an index with
 * events, or other files.
 */
export async function clearUnbegun(parts: StoreParts): Promise<void> {
  for (const id of workspaceIds(parts)) {
    if (!(await isUnbegun(parts, id))) continue;
    await withNames(parts, () => clear(parts, id));
  }
}

async function isUnbegun(parts: StoreParts, id: string): Promise<boolean> {
  const { backends, layout } = parts;
  const { folder, workspaceJson } = layout.workspace(id);
  // The workspace was begun at the modification time of this file, because the file is written first and never again.
  // The time of the folder changes whenever a process opens the workspace.
  const begun = backends.disk.lstat(workspaceJson) ?? backends.disk.lstat(folder);
  if (begun === undefined || !isGraceOver(Number(begun.mtimeNs / 1_000_000n), backends.now())) return false;
  return holdsNothing(parts, id);
}

/**
 * True if nothing was ever recorded in a workspace, because its `init` is still running or was interrupted. False for a
 * workspace that has lost its log.
 */
export async function holdsNothing({ backends, layout, heads }: StoreParts, id: string): Promise<boolean> {
  const { disk } = backends;
  const { folder, log, index: path } = layout.workspace(id);
  if (backends.hasLog(log) || heads.last(id) !== undefined) return false;
  if (disk.list(folder).some(({ name }) => !BEFORE_ALL.test(name.toString()))) return false;
  const index = await backends.openIndex(path);
  try {
    return (await index.head()).seq === 0;
  } finally {
    await index.close();
  }
}

/**
 * Removes a workspace in which nothing was ever recorded. The caller must hold the lock that `withNames` takes. After a
 * crash, the next holder of this lock finishes the removal.
 */
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
    // Keep the workspace if another process uses it (`LOCKED`).
    if (!(error instanceof ChronicleError) || error.code !== "LOCKED") throw error;
  } finally {
    lock.close();
  }
}
