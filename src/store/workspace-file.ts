import type { StoreLayout } from "../storage/layout.ts";
import type { Backends } from "./backends.ts";
import { followOrigin } from "./follow-origin.ts";
import { makeFolders, readText } from "./file-head-keeper.ts";
import { FORMAT_VERSION, refuseOtherFormat } from "../core/records/workspace-record.ts";
import type { Disk } from "../disk/disk.ts";
import { writeFileDurably } from "../disk/write-fully.ts";

function textOf(id: string): string {
  return `${JSON.stringify({ format: FORMAT_VERSION, id })}\n`;
}

/** Writes the format and the workspace's id to the file, durably. */
export function writeWorkspaceFile(disk: Disk, path: string, id: string): void {
  writeFileDurably(disk, path, Buffer.from(textOf(id)));
}

/** Returns the fault of the file in words for people; `undefined` if the file is sound. */
export function faultOfWorkspaceFile(disk: Disk, path: string, id: string): string | undefined {
  const text = readText(disk, path);
  if (text === undefined) return "it is not there";
  return text === textOf(id) ? undefined : `it does not say format ${FORMAT_VERSION} and workspace ${id}`;
}

/**
 * Throws `FORMAT_UNSUPPORTED` if the file names another format. Accepts a damaged or missing file, because the log has
 * the same facts.
 */
export function refuseOtherWorkspace(disk: Disk, path: string): void {
  const format = /^\{"format": *(\d{1,9})[,}]/.exec(readText(disk, path) ?? "")?.[1];
  if (format !== undefined) refuseOtherFormat(Number(format), `the workspace of ${path}`);
}

/** The ending of the name of a folder that is not complete yet. Such a folder is no workspace. */
const UNFINISHED = ".new";
/** The ending of the name of a folder that is being removed for good. Such a folder is no workspace. */
const FORGOTTEN = ".forgotten";

export function unfinishedName(id: string): string {
  return `${id}${UNFINISHED}`;
}

export function endedName(id: string): string {
  return `${id}${FORGOTTEN}`;
}

interface Place {
  readonly backends: Backends;
  readonly layout: StoreLayout;
  readonly waitMs: number;
}

/**
 * Calls `work` under the store's lock for creating, naming and removing workspaces, so that two processes cannot take
 * the same name. First removes the unfinished folders that a crash has left. Throws `LOCKED` if the lock is not free in
 * time.
 */
export async function withNames<T>({ backends, layout, waitMs }: Place, work: () => Promise<T>): Promise<T> {
  const { disk } = backends;
  makeFolders(disk, layout.workspaces);
  const lock = await backends.openLock(layout.namesLock);
  try {
    using _held = await lock.exclusive(waitMs);
    for (const { name, kind } of disk.list(layout.workspaces)) {
      const text = name.toString();
      const isLeft = kind === "dir" && (text.endsWith(UNFINISHED) || text.endsWith(FORGOTTEN));
      if (isLeft) backends.removeFolder(`${layout.workspaces}/${text}`);
    }
    return await work();
  } finally {
    lock.close();
  }
}

/**
 * The minimum time, in milliseconds, to wait for another process that begins a workspace in the same folder. That
 * process reads the whole folder, which takes minutes for a large one.
 */
const BEGIN_WAIT_MS = 600_000;

/**
 * Calls `work` under the lock for beginning a workspace in `folder`. Two processes that both find no workspace there,
 * such as two hooks that an agent calls at the same time, would otherwise each begin one. `work` must therefore first
 * look for a workspace again. Throws `LOCKED` if the lock is not free in time.
 */
export async function withBeginning<T>(
  { backends, layout, waitMs }: Place,
  folder: string,
  work: () => Promise<T>,
): Promise<T> {
  makeFolders(backends.disk, layout.home);
  const lock = await backends.openLock(layout.beginLock(folder));
  try {
    using _held = await lock.exclusive(Math.max(waitMs, BEGIN_WAIT_MS));
    return await work();
  } finally {
    lock.close();
  }
}

/**
 * Moves a workspace's folder, with its mirror. First calls `before` under the workspace's lock, so that a durable note
 * can precede the move. If `before` throws, nothing is moved. Throws `LOCKED` if another process changes or syncs the
 * workspace and does not end in time.
 */
export async function moveWorkspace(
  { backends, layout, waitMs }: Place,
  id: string,
  { to, before }: { readonly to: string; readonly before: () => Promise<void> },
): Promise<void> {
  const { disk } = backends;
  const { folder, lock: lockPath, upstream } = layout.workspace(id);
  using _followed = disk.lstat(upstream.folder) === undefined ? undefined : await followOrigin(backends, upstream);
  const lock = await backends.openLock(lockPath);
  try {
    using _held = await lock.exclusive(waitMs);
    await before();
    backends.move(folder, to);
    // Sync the target first, so that a crash leaves the folder in at least one of the two places.
    disk.syncFolder(to.slice(0, to.lastIndexOf("/")));
    disk.syncFolder(layout.workspaces);
  } finally {
    lock.close();
  }
}
