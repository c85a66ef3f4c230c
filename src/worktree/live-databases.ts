import { errnoOf } from "../core/values/errors.ts";
import { pathToBytes, type WorkspacePath } from "../core/values/path.ts";
import { besideDatabase, SHARED_MEMORY_SUFFIX } from "../core/tree/sqlite-unit.ts";
import type { Disk, FileStat } from "../disk/disk.ts";
import type { ConfinedFs } from "./files/confined-fs.ts";
import { isDatabaseFile } from "./files/read-sqlite.ts";

/** A file of the workspace, and its path `inner` within the folder of `fs`. */
export interface PlacedFile {
  readonly path: WorkspacePath;
  readonly fs: ConfinedFs;
  readonly inner: WorkspacePath;
}

export interface LiveDatabase {
  readonly path: WorkspacePath;
  /** The processes that have the database open, as far as this user can see them. */
  readonly processes: readonly number[];
}

/**
 * The smallest page size of SQLite, in bytes. A database consists of whole pages, so its size is a multiple of this
 * number. Most other files have other sizes.
 */
const PAGE_BYTES = 512;

/** Returns the SQLite databases among the files, each with the processes that have it open. */
export function liveDatabases(disk: Disk, files: readonly PlacedFile[]): LiveDatabase[] {
  const found = files.filter(({ fs, inner }) => {
    const stat = seenStat(fs, inner);
    return stat?.kind === "file" && stat.size > 0 && stat.size % PAGE_BYTES === 0 && isDatabaseFile(fs, inner);
  });
  if (found.length === 0) return [];
  const holders = openFiles(disk);
  return found.map(({ path, fs, inner }) => {
    const place = Buffer.concat([Buffer.from(`${fs.root}/`), pathToBytes(inner)]).toString("latin1");
    return { path, processes: holders.get(place) ?? [] };
  });
}

/**
 * Returns the stat of a path; `undefined` if nothing is there, or if a folder above allows no access. The apply itself
 * then reports the missing access.
 */
function seenStat(fs: PlacedFile["fs"], path: WorkspacePath): FileStat | undefined {
  try {
    return fs.lstat(path);
  } catch (error) {
    if (UNSEEN.has(errnoOf(error) ?? "")) return undefined;
    throw error;
  }
}

/** Removes the shared-memory file of a database. SQLite creates this file again when it opens the database. */
export function dropSharedMemory({ fs, inner }: PlacedFile): void {
  const path = besideDatabase(inner, SHARED_MEMORY_SUFFIX);
  if (fs.lstat(path)?.kind !== "file" || !isDatabaseFile(fs, inner)) return;
  try {
    fs.unlink(path);
  } catch (error) {
    // The file was just removed, or this process may not remove it. A file that stays does no harm, because SQLite does
    // not trust a shared-memory file that no process has open.
    if (!["ENOENT", "EACCES", "EPERM"].includes(errnoOf(error) ?? "")) throw error;
  }
}

/**
 * Returns the ids of the processes that have files open, by the path of the file (its bytes as latin1). The map is
 * empty on a system without `/proc`.
 */
function openFiles(disk: Disk): Map<string, number[]> {
  const holders = new Map<string, number[]>();
  for (const { name } of listed(disk, "/proc")) {
    const pid = Number(name.toString("latin1"));
    if (!Number.isInteger(pid) || pid === 0) continue;
    const places = listed(disk, `/proc/${pid}/fd`).map((fd) => targetOf(disk, `/proc/${pid}/fd/${fd.name.toString()}`));
    for (const place of new Set(places)) {
      if (place !== undefined) holders.set(place, [...(holders.get(place) ?? []), pid]);
    }
  }
  return holders;
}

/** Errnos for a file or process that is missing or may not be read, or for a system without `/proc`. */
const UNSEEN: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "EACCES", "EPERM", "ESRCH", "EINVAL"]);

function listed(disk: Disk, folder: string): ReturnType<Disk["list"]> {
  try {
    return disk.list(folder);
  } catch (error) {
    if (UNSEEN.has(errnoOf(error) ?? "")) return [];
    throw error;
  }
}

function targetOf(disk: Disk, link: string): string | undefined {
  try {
    return disk.readlink(link).toString("latin1");
  } catch (error) {
    if (UNSEEN.has(errnoOf(error) ?? "")) return undefined;
    throw error;
  }
}
