import type { WorkspacePath } from "../../core/values/path.ts";
import type { Disk, FileStat } from "../../disk/disk.ts";
import { RecentMap } from "../../util/recent-map.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";

/** The number of applies after which the program is asked again about a folder that nobody seems to have changed. */
const USES = 256;
/** The number of folders that are remembered at least. */
const FOLDERS = 4_096;
/** After this number of questions in a row without an answer, the machine counts as one without the program. */
const MOST_UNANSWERED = 3;

/** A state of a folder. Its change time changes with its owner, mode, access control list, label, and names. */
interface FolderState {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly ctimeNs: bigint;
}

interface Known extends FolderState {
  readonly isPlain: boolean;
  /** `markOf` the folder with which the program has compared this folder. */
  readonly staging: string;
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
}

interface Compared extends Receivers {
  /** A folder in which files are staged, absolute. It exists. */
  readonly staging: string;
  /** The lasting folder in which `staging` was made. */
  readonly stagingRoot: string;
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
  readonly #known = new RecentMap<string, Known>(FOLDERS);
  /** The number of applies that met a folder of which nothing was known, by the folder's absolute path. */
  readonly #unknown = new RecentMap<string, number>(FOLDERS);
  /** The folders whose known state was compared with the disk at the beginning of the present apply. */
  readonly #compared = new Set<string>();
  /** The number of questions in a row to which there was no answer. */
  #unanswered = 0;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** Must be called at the beginning of each apply. A worktree carries out one apply at a time. */
  begin(): void {
    this.#compared.clear();
  }

  /**
   * Returns the plain folders among those of an apply. A folder counts as not plain if nothing is known of it. Asks the
   * program about a folder when the second, fourth, eighth … apply meets it without an answer: most processes write to
   * a folder once, and the program takes longer than a place for the files. An answer that has become too old is asked
   * for again at once.
   */
  async among({ root, fs, folders, staging, stagingRoot }: Compared): Promise<Set<WorkspacePath>> {
    const plain = new Set<WorkspacePath>();
    const asked = new Map<string, { readonly folder: WorkspacePath; readonly stat: FileStat }>();
    const mark = markOf(this.#disk.lstat(stagingRoot));
    for (const folder of folders) {
      const stat = folder.isWellFormed() ? fs.lstat(folder) : undefined;
      if (stat?.kind !== "dir") continue;
      const at = keyOf(root, folder);
      const known = this.#known.get(at);
      const isKnown = known !== undefined && isSame(known, stat) && known.staging === mark;
      if (isKnown && known.uses < USES) {
        this.#compared.add(at);
        if (known.isPlain) plain.add(folder);
        continue;
      }
      this.#known.delete(at);
      if (isKnown || this.#countUnknown(at)) asked.set(at, { folder, stat });
    }
    if (asked.size === 0 || this.#unanswered >= MOST_UNANSWERED) return plain;
    fs.release();
    const alike = await this.#disk.makesAlike([...asked.keys()], staging);
    this.#unanswered = alike === undefined ? this.#unanswered + 1 : 0;
    for (const [at, { folder, stat }] of asked) {
      // The answer belongs to the state that was seen before, unless the folder was changed meanwhile.
      const now = fs.lstat(folder);
      if (alike === undefined || now === undefined || !isSame(now, stat)) continue;
      const isPlain = alike.has(at);
      this.#known.put(at, { ...stateOf(stat), isPlain, staging: mark, uses: 0 });
      this.#unknown.delete(at);
      this.#compared.add(at);
      if (isPlain) plain.add(folder);
    }
    return plain;
  }

  /**
   * Takes over the changes that an apply itself has made to the names in its folders. Takes over nothing for a folder
   * that was not compared at the beginning of the apply, or whose last change was not one of its names.
   */
  keep({ root, fs, folders }: Receivers): void {
    for (const folder of folders) {
      const at = keyOf(root, folder);
      const known = this.#known.get(at);
      if (known === undefined) continue;
      const now = fs.lstat(folder);
      const isNames = now?.ino === known.ino && now.dev === known.dev && now.ctimeNs === now.mtimeNs;
      if (isNames && this.#compared.has(at)) this.#known.put(at, { ...known, ...stateOf(now), uses: known.uses + 1 });
      else this.#known.delete(at);
    }
  }

  /** Counts an apply that knows nothing of a folder. Returns true if the program must be asked. */
  #countUnknown(at: string): boolean {
    const count = (this.#unknown.get(at) ?? 0) + 1;
    this.#unknown.put(at, count);
    return count > 1 && (count & (count - 1)) === 0;
  }
}

function keyOf(root: string, folder: WorkspacePath): string {
  return folder === "" ? root : `${root}/${folder}`;
}

/** Returns a text that changes when another folder, or one with other attributes, is at the path. */
function markOf(stat: FileStat | undefined): string {
  return stat === undefined ? "" : `${stat.dev} ${stat.ino} ${stat.uid} ${stat.gid} ${stat.mode}`;
}

function stateOf({ dev, ino, ctimeNs }: FileStat): FolderState {
  return { dev, ino, ctimeNs };
}

function isSame(a: FolderState, b: FolderState): boolean {
  return a.ctimeNs === b.ctimeNs && a.ino === b.ino && a.dev === b.dev;
}
