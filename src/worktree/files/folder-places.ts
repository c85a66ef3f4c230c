import { errnoOf } from "../../core/values/errors.ts";
import {
  childOf,
  decodeName,
  parentOf,
  pathFromBytes,
  pathToBytes,
  ROOT,
  type WorkspacePath,
} from "../../core/values/path.ts";
import { stagingBeside } from "../../core/tree/staging-folder.ts";
import type { Disk } from "../../disk/disk.ts";
import { ConfinedFs } from "./confined-fs.ts";
import { removeTree } from "./remove-staged.ts";

/** The target of the link that notes a place in the tracked folder itself. No other folder has `.` as its path. */
const TOP = Buffer.from(".");

/**
 * Errnos that mean that nothing can be staged in a folder, or that the disk has no symbolic links to note the place. In
 * both cases, the files for the folder are staged in the staging folder instead, and may get other groups and access
 * control lists. On a disk without links, this matters little, because such a disk seldom has groups and access control
 * lists.
 */
const REFUSED: ReadonlySet<string> = new Set([
  "EACCES",
  "EPERM",
  "EROFS",
  "ENOENT",
  "ENOTDIR",
  "ELOOP",
  "ENAMETOOLONG",
  "EINVAL",
  "EILSEQ",
  "ENOSYS",
  "ENOTSUP",
  "EOPNOTSUPP",
]);

export interface FolderPlacesOptions {
  readonly disk: Disk;
  /** The absolute path of the tracked folder. */
  readonly root: string;
  /** The name of this apply's staging folder. */
  readonly own: string;
  /**
   * Gives access to `noteFolder`. For each folder with a place, `noteFolder` has one link, whose target is that folder.
   */
  readonly notes: ConfinedFs;
  readonly noteFolder: WorkspacePath;
}

/**
 * Places in which new files are staged, inside the folders that receive the files. A file that is made in such a place
 * gets the group, default access control list and security label of the receiving folder, and a rename keeps these.
 * Each place is a folder (`.chronicle-tmp-<token>`) with mode 0700 that no capture takes.
 *
 * Before a place is made, a link in the staging folder notes the place. ext4 and XFS journal the link and the place in
 * order. Therefore, after a power cut, no place exists without its link, even if neither was synced. On btrfs, the link
 * may be missing (see `sweepMet`). The caller must remove the places before it empties the staging folder.
 */
export class FolderPlaces {
  /** Access to the tracked folder, for these places alone. */
  readonly fs: ConfinedFs;
  readonly #options: FolderPlacesOptions;
  readonly #name: string;
  readonly #made = new Map<WorkspacePath, WorkspacePath | undefined>();
  #hasNoteFolder = false;
  #plain: ReadonlySet<WorkspacePath> = new Set();
  #device: bigint | undefined;

  constructor(options: FolderPlacesOptions) {
    this.fs = new ConfinedFs(options.disk, options.root);
    this.#options = options;
    this.#name = stagingBeside(options.own);
  }

  /**
   * Makes no places in these folders from now on. A file for such a folder gets the same attributes if it is staged in
   * the staging folder.
   */
  staysOutOf(folders: ReadonlySet<WorkspacePath>): void {
    this.#plain = folders;
  }

  /**
   * Returns the path at which a new file for a folder must be staged; `undefined` if the staging folder must be used.
   */
  placeIn(folder: WorkspacePath, name: string): WorkspacePath | undefined {
    if (this.#plain.has(folder)) return undefined;
    if (!this.#made.has(folder)) this.#made.set(folder, this.#make(folder));
    const place = this.#made.get(folder);
    return place === undefined ? undefined : childOf(place, name);
  }

  /**
   * Removes every place that was made or noted, and every place in `folders`. A place that cannot be removed stays, but
   * is never captured. Throws for EIO, and if the notes cannot be read.
   */
  clear(folders: Iterable<WorkspacePath> = []): void {
    const noted = this.#noted();
    for (const folder of new Set([...this.#made.keys(), ...noted.values(), ...folders])) {
      quietly(() => removeTree(this.fs, childOf(folder, this.#name)));
    }
    for (const note of noted.keys()) quietly(() => this.#options.notes.unlink(note));
    if (noted.size > 0) quietly(() => this.#options.notes.removeFolder(this.#options.noteFolder));
    this.#made.clear();
    this.#hasNoteFolder = false;
    this.release();
  }

  /** True if a place is noted, by this process or by an interrupted one. */
  get isAnyNoted(): boolean {
    return this.#noted().size > 0;
  }

  release(): void {
    this.fs.release();
  }

  #make(folder: WorkspacePath): WorkspacePath | undefined {
    const { notes, noteFolder } = this.#options;
    const place = childOf(folder, this.#name);
    // No place is made on another file system that is mounted in the tracked folder.
    this.#device ??= this.fs.lstat(ROOT)?.dev;
    if (this.fs.lstat(folder)?.dev !== this.#device) return undefined;
    try {
      if (!this.#hasNoteFolder) makeIfMissing(notes, noteFolder);
      this.#hasNoteFolder = true;
      notes.symlink(folder === ROOT ? TOP : pathToBytes(folder), childOf(noteFolder, String(this.#made.size)));
      // If the place exists already, an interrupted apply has left it.
      if (!makeIfMissing(this.fs, place)) removeTree(this.fs, place);
      makeIfMissing(this.fs, place);
      return place;
    } catch (error) {
      if (!REFUSED.has(errnoOf(error) ?? "")) throw error;
      return undefined;
    }
  }

  /**
   * Maps the path of each note to the folder of the noted place. Ignores a note that vanishes during the look-up,
   * because another process removes its notes when its apply ends.
   */
  #noted(): Map<WorkspacePath, WorkspacePath> {
    const { notes, noteFolder } = this.#options;
    const found = new Map<WorkspacePath, WorkspacePath>();
    if (notes.lstat(noteFolder)?.kind !== "dir") return found;
    for (const { name, kind } of ifThere(() => notes.list(noteFolder)) ?? []) {
      const note = childOf(noteFolder, decodeName(name));
      const target = kind === "symlink" ? ifThere(() => notes.readlink(note)) : undefined;
      if (target !== undefined) found.set(note, target.equals(TOP) ? ROOT : pathFromBytes(target));
    }
    return found;
  }
}

/** Makes a folder. Returns false if the name is taken. */
function makeIfMissing(fs: ConfinedFs, folder: WorkspacePath): boolean {
  try {
    fs.makeFolder(folder, 0o700);
    return true;
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
    return false;
  }
}

/** Returns the result of `read`; `undefined` if `read` throws `ENOENT`. */
function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    return undefined;
  }
}

function quietly(act: () => void): void {
  try {
    act();
  } catch (error) {
    if (errnoOf(error) === undefined || errnoOf(error) === "EIO") throw error;
  }
}

/** Returns the folders that may receive files: the parents of these paths. */
export function receiversOf(paths: Iterable<WorkspacePath>): Set<WorkspacePath> {
  const folders = new Set<WorkspacePath>();
  for (const path of paths) folders.add(parentOf(path));
  return folders;
}
