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

/** Where a note stands for the tracked folder itself: no folder has this path. */
const TOP = Buffer.from(".");

/**
 * A folder in which nothing can be staged, or a disk without symbolic links for the note: what goes into it is staged elsewhere. A disk
 * without links seldom has groups and access control lists.
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

/** What the places of an apply are made from. */
export interface FolderPlacesOptions {
  readonly disk: Disk;
  /** The tracked folder, absolute. */
  readonly root: string;
  /** The name of this apply's staging. */
  readonly own: string;
  /** Where it is noted which folders have a place, and the folder for these notes. */
  readonly notes: ConfinedFs;
  readonly noteFolder: WorkspacePath;
}

/**
 * Places for new files inside of the folders that receive them: what is made there has the group, the default access control list
 * and the security label of the folder, as if somebody had made it there, and a rename keeps that. Each is a folder of our own
 * (`.chronicle-tmp-<token>`) that nobody else may enter and no capture looks at.
 *
 * Before one is made, a link in the staging folder notes where: on ext4 and XFS both are entries of one journal, so the link is there
 * after a power cut if the place is, without a sync; on btrfs it may not be (see `sweepMet`). Whoever empties the staging folder
 * removes the places first.
 */
export class FolderPlaces {
  /** A way of its own into the tracked folder. */
  readonly fs: ConfinedFs;
  readonly #options: FolderPlacesOptions;
  readonly #name: string;
  readonly #made = new Map<WorkspacePath, WorkspacePath | undefined>();
  #plain: ReadonlySet<WorkspacePath> = new Set();
  /** The device of the tracked folder. */
  #device: bigint | undefined;

  constructor(options: FolderPlacesOptions) {
    this.fs = new ConfinedFs(options.disk, options.root);
    this.#options = options;
    this.#name = stagingBeside(options.own);
  }

  /** In these folders a file comes out as one that was staged elsewhere. */
  staysOutOf(folders: ReadonlySet<WorkspacePath>): void {
    this.#plain = folders;
  }

  /** Where a new file for a folder is staged; `undefined`: not in the folder. */
  placeIn(folder: WorkspacePath, name: string): WorkspacePath | undefined {
    if (this.#plain.has(folder)) return undefined;
    if (!this.#made.has(folder)) this.#made.set(folder, this.#make(folder));
    const place = this.#made.get(folder);
    return place === undefined ? undefined : childOf(place, name);
  }

  /** Removes every place that was made or noted, and what is left in these folders. What does not go stays, and is never captured. */
  clear(folders: Iterable<WorkspacePath> = []): void {
    const noted = this.#noted();
    for (const folder of new Set([...this.#made.keys(), ...noted.values(), ...folders])) {
      quietly(() => removeTree(this.fs, childOf(folder, this.#name)));
    }
    for (const note of noted.keys()) quietly(() => this.#options.notes.unlink(note));
    if (noted.size > 0) quietly(() => this.#options.notes.removeFolder(this.#options.noteFolder));
    this.#made.clear();
    this.release();
  }

  /** Are there notes, of this apply or of one that was cut off? */
  get isAnyNoted(): boolean {
    return this.#noted().size > 0;
  }

  release(): void {
    this.fs.release();
  }

  #make(folder: WorkspacePath): WorkspacePath | undefined {
    const { notes, noteFolder } = this.#options;
    const place = childOf(folder, this.#name);
    // Another file system that is mounted in the tracked folder is not entered.
    this.#device ??= this.fs.lstat(ROOT)?.dev;
    if (this.fs.lstat(folder)?.dev !== this.#device) return undefined;
    try {
      if (this.#made.size === 0) makeIfMissing(notes, noteFolder);
      notes.symlink(folder === ROOT ? TOP : pathToBytes(folder), childOf(noteFolder, String(this.#made.size)));
      // Left by a run that was cut off.
      if (!makeIfMissing(this.fs, place)) removeTree(this.fs, place);
      makeIfMissing(this.fs, place);
      return place;
    } catch (error) {
      if (!REFUSED.has(errnoOf(error) ?? "")) throw error;
      return undefined;
    }
  }

  /** By note, the folder that it tells of. */
  #noted(): Map<WorkspacePath, WorkspacePath> {
    const { notes, noteFolder } = this.#options;
    const found = new Map<WorkspacePath, WorkspacePath>();
    if (notes.lstat(noteFolder)?.kind !== "dir") return found;
    for (const { name, kind } of notes.list(noteFolder)) {
      const note = childOf(noteFolder, decodeName(name));
      if (kind !== "symlink") continue;
      const target = notes.readlink(note);
      found.set(note, target.equals(TOP) ? ROOT : pathFromBytes(target));
    }
    return found;
  }
}

/** False: something has that name already. */
function makeIfMissing(fs: ConfinedFs, folder: WorkspacePath): boolean {
  try {
    fs.makeFolder(folder, 0o700);
    return true;
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
    return false;
  }
}

function quietly(act: () => void): void {
  try {
    act();
  } catch (error) {
    if (errnoOf(error) === undefined || errnoOf(error) === "EIO") throw error;
  }
}

/** The folders that may receive something: those that hold one of these paths. */
export function receiversOf(paths: Iterable<WorkspacePath>): Set<WorkspacePath> {
  const folders = new Set<WorkspacePath>();
  for (const path of paths) folders.add(parentOf(path));
  return folders;
}
