import { type GitFolder, type GitState, isGitRef, parseIndexValue } from "../../core/records/git-record.ts";
import { type Entry, entryTime, SYMLINK_MODE } from "../../core/values/entry.ts";
import { errnoOf } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import { childOf, decodeName, foldersAbove, type WorkspacePath } from "../../core/values/path.ts";
import type { Disk, FileStat, NodeKind } from "../../disk/disk.ts";
import { filePieces } from "../../disk/file-pieces.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import type { KeepLost, LostGit } from "../git-states.ts";
import { birthOf } from "./kept-folders.ts";
import { isRootRef, STASH_LOG, TABLES_LIST } from "./table-refs.ts";

/**
 * The limits for the objects of a git folder that an undo makes anew: their bytes, and the number of files and folders.
 */
const MOST_BYTES = 4 * 1024 ** 3;
const MOST_FILES = 50_000;

/** A git folder as it was recorded before some work, and the objects that were kept of it. */
export interface FoundFolder {
  readonly disk: Disk;
  /** The absolute path of the git folder. */
  readonly gitDir: string;
  readonly folder: GitFolder;
  readonly kept: ConfinedFs | undefined;
}

/**
 * True if a git folder is gone or was replaced, has lost all of its objects, or has lost all of its packs. The
 * remaining contents of such a git folder are not enough to restore its recorded state.
 *
 * If only the inode of the folder `objects` is different, the git folder does not count as replaced, because a file
 * system may give other inodes after a new mount. At least one object of the sample (the names of some objects that the
 * git folder had) must be gone, too.
 */
export function isLost(found: FoundFolder): boolean {
  const { disk, gitDir, folder } = found;
  const kindOf = (name: string): NodeKind | undefined => disk.lstat(`${gitDir}${name}`)?.kind;
  if (kindOf("") !== "dir" || kindOf("/HEAD") === undefined || kindOf("/refs") !== "dir") return true;
  const { objects, sample = [] } = folder;
  const isThere = sample.length > 0 && sample.every((name) => kindOf(`/${name}`) === "file");
  if (isThere) return false;
  if (objects !== "" && birthOf(disk, gitDir) !== objects) return true;
  if (packsIn(disk, gitDir) > 0) return false;
  const had = hadObjects(found);
  return had.packs || (had.loose && looseIn(disk, gitDir) === 0);
}

/**
 * Returns whether the git folder had packs and loose objects when it was kept. The sample is more reliable than the
 * kept links, because the links may come from an earlier repository at the same path.
 */
function hadObjects({ disk, folder: { sample }, kept }: FoundFolder): {
  readonly packs: boolean;
  readonly loose: boolean;
} {
  if (sample !== undefined) {
    const packs = sample.some((name) => name.endsWith(".pack"));
    return { packs, loose: sample.length > 0 };
  }
  if (kept === undefined) return { packs: false, loose: false };
  return { packs: packsIn(disk, kept.root) > 0, loose: looseIn(disk, kept.root) > 0 };
}

function packsIn(disk: Disk, folder: string): number {
  return namesIn(disk, `${folder}/objects/pack`).filter((name) => name.endsWith(".pack")).length;
}

/** Returns the number of folders that may have loose objects. */
function looseIn(disk: Disk, folder: string): number {
  return namesIn(disk, `${folder}/objects`).filter((name) => /^[0-9a-f]{2}$/.test(name)).length;
}

function namesIn(disk: Disk, folder: string): string[] {
  return disk.lstat(folder)?.kind === "dir" ? disk.list(folder).map(({ name }) => decodeName(name)) : [];
}

/**
 * Returns the entries of the git folder: its recorded files, the files that the state describes, and the kept objects.
 */
export async function lostFolder(found: FoundFolder, state: GitState, keep: KeepLost): Promise<LostGit> {
  const { disk, folder, kept } = found;
  if (folder.problem !== undefined) return { problem: folder.problem };
  if (kept === undefined) return { problem: "its objects were not kept" };
  const tables = new Set(folder.items.map(({ name }) => name).filter((name) => name.endsWith(TABLES_LIST)));
  for (const list of tables) {
    if (!(await hasTables(folder, list, keep))) return { problem: "git was writing its refs when it was kept" };
  }
  const entries = new Map<WorkspacePath, Entry>();
  const at = (name: string): WorkspacePath => childOf(state.path, name);
  entries.set(state.path, folderEntry(state.path, FOLDER_MODE));
  for (const { name, kind, mode, size, mtimeNs, blob } of folder.items) {
    const path = at(name);
    if (kind === "dir") entries.set(path, folderEntry(path, mode));
    else {
      const shown = kind === "symlink" ? SYMLINK_MODE : mode;
      entries.set(path, { path, kind, mode: shown, size, ...entryTime(mtimeNs), hash: blob });
    }
  }
  for (const entry of await entriesOfState(state, { mode: folder.mode, isReftable: tables.has(TABLES_LIST) }, keep)) {
    for (const above of foldersAbove(entry.path)) {
      if (above.startsWith(`${state.path}/`) && !entries.has(above))
        entries.set(above, folderEntry(above, FOLDER_MODE));
    }
    entries.set(entry.path, entry);
  }
  try {
    const problem = await takeObjects({ disk, kept, at }, entries, keep);
    return problem === undefined ? { entries } : { problem };
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return { problem: `its objects cannot be read (${errno})` };
  } finally {
    kept.release();
  }
}

const FOLDER_MODE = 0o755;

function folderEntry(path: WorkspacePath, mode: number): Entry {
  return { path, kind: "dir", mode, size: 0, mtimeMs: 0, hash: undefined };
}

/** True if every table was kept that the file `list` (a `tables.list`) names. */
async function hasTables({ items }: GitFolder, list: string, { contentOf }: KeepLost): Promise<boolean> {
  const blob = items.find(({ name }) => name === list)?.blob;
  const names = (blob === undefined ? undefined : await contentOf(blob))?.toString("latin1").split("\n");
  const kept = new Set(items.map(({ name }) => name));
  const folder = list.slice(0, list.lastIndexOf("/"));
  return names?.every((name) => name === "" || kept.has(`${folder}/${name}`)) === true;
}

/**
 * Returns the files that the values of a state describe. Leaves out refs in tables, because they have no files of their
 * own.
 */
async function entriesOfState(
  state: GitState,
  { mode, isReftable }: { readonly mode: number; readonly isReftable: boolean },
  { content, contentOf }: KeepLost,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  const add = (name: string, hash: Hash, size: number, mtimeNs = 0n): void => {
    entries.push({ path: childOf(state.path, name), kind: "file", mode, size, ...entryTime(mtimeNs), hash });
  };
  for (const [name, value] of state.values) {
    if (isReftable && (isGitRef(name) || isRootRef(name) || name === STASH_LOG)) continue;
    if (isGitRef(name)) {
      const bytes = Buffer.from(`${value}\n`);
      add(name, await content(bytes), bytes.length);
      continue;
    }
    const { blob, mtimeNs } = name === "index" ? parseIndexValue(value) : { blob: value as Hash, mtimeNs: 0n };
    add(name, blob, (await contentOf(blob))?.length ?? 0, mtimeNs);
  }
  const { packed } = state;
  if (packed !== undefined && !isReftable) add("packed-refs", packed, (await contentOf(packed))?.length ?? 0);
  return entries;
}

interface KeptObjectFiles {
  readonly disk: Disk;
  readonly kept: ConfinedFs;
  readonly at: (name: string) => WorkspacePath;
}

/**
 * Adds the kept objects to `entries`. Returns the reason if there are too many objects, or if `keep` refuses the size
 * of all entries together.
 */
async function takeObjects(
  { disk, kept, at }: KeptObjectFiles,
  entries: Map<WorkspacePath, Entry>,
  keep: KeepLost,
): Promise<string | undefined> {
  const found = [...filesIn(kept, "" as WorkspacePath)];
  const bytes = found.reduce((sum, { stat }) => sum + (stat.kind === "file" ? stat.size : 0), 0);
  if (found.length > MOST_FILES || bytes > MOST_BYTES) return `it has more than ${MOST_FILES} files or 4 GiB`;
  let all = bytes;
  for (const { size } of entries.values()) all += size;
  const refusal = keep.refusal(all);
  if (refusal !== undefined) return refusal;
  for (const { name, stat } of found) {
    const path = at(name);
    if (stat.kind === "dir") {
      if (!entries.has(path)) entries.set(path, folderEntry(path, FOLDER_MODE));
      continue;
    }
    const { hash, size } = await keep.file(filePieces(disk, `${kept.root}/${name}`), { path, size: stat.size });
    entries.set(path, { path, kind: "file", mode: stat.mode, size, ...entryTime(stat.mtimeNs), hash });
  }
  return undefined;
}

interface KeptFile {
  readonly name: WorkspacePath;
  readonly stat: FileStat;
}

/** Yields the folders and files in a folder of kept objects, each folder before its contents. */
function* filesIn(kept: ConfinedFs, folder: WorkspacePath): Generator<KeptFile> {
  for (const { name: bytes } of kept.list(folder)) {
    const name = childOf(folder, decodeName(bytes));
    const stat = kept.lstat(name);
    if (stat?.kind === "dir" || stat?.kind === "file") yield { name, stat };
    if (stat?.kind === "dir") yield* filesIn(kept, name);
  }
}
