import type { WorkspacePath } from "../../core/values/path.ts";
import type { Disk, FileStat } from "../../disk/disk.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";

/** The number of applies after which the program is asked again about a folder that nobody seems to have changed. */
const USES = 256;

/** A state of a folder. Its change time changes with its owner, mode, access control list, label, and names. */
interface FolderState {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly ctimeNs: bigint;
}

interface Known extends FolderState {
  readonly isPlain: boolean;
  /** The number of applies that have used this answer. */
  readonly uses: number;
}

/** The folders of a tracked folder that one apply puts new files into. */
interface Receivers {
  /** The tracked folder, absolute. */
  readonly root: string;
  /** Gives access to the tracked folder. */
  readonly fs: ConfinedFs;
  readonly folders: Iterable<WorkspacePath>;
  /** A folder in which files are staged, absolute. It exists. */
  readonly staging: string;
}

/**
 * Remembers for one process in which folders a new file gets the same group, access control list and label as in the
 * staging folder (*plain* folders). Files for these folders need no staging place of their own (`FolderPlaces`), which
 * costs more than the rest of a small write.
 *
 * An answer of `Disk.makesAlike` holds until somebody else changes the folder. The changes of this process are no such
 * change: `keep` takes the state after them for the state that is known. An access control list that somebody changes
 * during an apply can go unnoticed; therefore the program is asked again after `USES` applies.
 */
export class PlainFolders {
  readonly #disk: Disk;
  readonly #known = new Map<string, Known>();
  /** The number of applies that met a folder of which nothing was known, by the folder's absolute path. */
  readonly #unknown = new Map<string, number>();
  /** False once the machine has turned out to have no program for `Disk.makesAlike`. */
  #canAsk = true;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /**
   * Returns the plain folders among those of an apply. A folder counts as not plain if nothing is known of it. Asks the
   * program about a folder when the second, fourth, eighth … apply meets it without an answer: most processes write to
   * a folder once, and the program takes longer than a place for the files.
   */
  async among({ root, fs, folders, staging }: Receivers): Promise<Set<WorkspacePath>> {
    const plain = new Set<WorkspacePath>();
    const asked = new Map<string, { readonly folder: WorkspacePath; readonly stat: FileStat }>();
    if (!this.#canAsk) return plain;
    for (const folder of folders) {
      const stat = folder.isWellFormed() ? statOf(fs, folder) : undefined;
      if (stat?.kind !== "dir") continue;
      const at = keyOf(root, folder);
      const known = this.#known.get(at);
      if (known !== undefined && isSame(known, stat) && known.uses < USES) {
        if (known.isPlain) plain.add(folder);
        continue;
      }
      this.#known.delete(at);
      if (this.#countUnknown(at)) asked.set(at, { folder, stat });
    }
    if (asked.size === 0) return plain;
    fs.release();
    const alike = await this.#disk.makesAlike([...asked.keys()], staging);
    this.#canAsk = alike !== undefined;
    for (const [at, { folder, stat }] of asked) {
      // The answer belongs to the state that was seen before, unless the folder was changed meanwhile.
      const now = statOf(fs, folder);
      if (alike === undefined || now === undefined || !isSame(now, stat)) continue;
      const isPlain = alike.has(at);
      this.#known.set(at, { ...stateOf(stat), isPlain, uses: 0 });
      if (isPlain) plain.add(folder);
    }
    return plain;
  }

  /**
   * Takes over the changes that an apply itself has made to the names in its folders. Nothing is taken over if the last
   * change of a folder was not one of its names.
   */
  keep({ root, fs, folders }: Omit<Receivers, "staging">): void {
    for (const folder of folders) {
      const at = keyOf(root, folder);
      const known = this.#known.get(at);
      if (known === undefined) continue;
      const now = statOf(fs, folder);
      const isNames = now?.ino === known.ino && now.dev === known.dev && now.ctimeNs === now.mtimeNs;
      if (isNames) this.#known.set(at, { ...stateOf(now), isPlain: known.isPlain, uses: known.uses + 1 });
      else this.#known.delete(at);
    }
  }

  /** Counts an apply that knows nothing of a folder. Returns true if the program must be asked. */
  #countUnknown(at: string): boolean {
    const count = (this.#unknown.get(at) ?? 0) + 1;
    this.#unknown.set(at, count);
    return count > 1 && (count & (count - 1)) === 0;
  }
}

function keyOf(root: string, folder: WorkspacePath): string {
  return folder === "" ? root : `${root}/${folder}`;
}

function statOf(fs: ConfinedFs, folder: WorkspacePath): FileStat | undefined {
  return fs.lstat(folder);
}

function stateOf({ dev, ino, ctimeNs }: FileStat): FolderState {
  return { dev, ino, ctimeNs };
}

function isSame(a: FolderState, b: FolderState): boolean {
  return a.ctimeNs === b.ctimeNs && a.ino === b.ino && a.dev === b.dev;
}
