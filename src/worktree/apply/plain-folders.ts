import type { WorkspacePath } from "../../core/values/path.ts";
import type { Disk, FileStat } from "../../disk/disk.ts";
import { RecentMap } from "../../util/recent-map.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";

/** The number of applies after which the program (`Disk.makesAlike`) is asked again about an unchanged folder. */
const USES = 256;
/** The minimum number of folders that are remembered. */
const FOLDERS = 4_096;
/** The number of consecutive questions without an answer after which the machine counts as having no such program. */
const MOST_UNANSWERED = 3;

/** A state of a folder. The change time shows each change of the owner, mode, access control list, label and names. */
interface FolderState {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly ctimeNs: bigint;
}

interface Known extends FolderState {
  readonly isPlain: boolean;
  /** The mark (see `markOf`) of the staging folder with which the program has compared this folder. */
  readonly staging: string;
  /** The number of applies that have used this answer. */
  readonly uses: number;
}

/** The folders, in one tracked folder, into which an apply puts new files. */
interface Receivers {
  /** The absolute path of the tracked folder. */
  readonly root: string;
  /** Gives access to the tracked folder. */
  readonly fs: ConfinedFs;
  readonly folders: Iterable<WorkspacePath>;
}

interface Compared extends Receivers {
  /** The absolute path of an existing folder in which files are staged. */
  readonly staging: string;
  /** The lasting folder in which `staging` was made. */
  readonly stagingRoot: string;
}

/**
 * Remembers the *plain* folders for one process. In a plain folder, a new file gets the same group, access control list
 * and label as in the staging folder. Therefore, files for plain folders need no place in the folder itself
 * (`FolderPlaces`). Such a place costs more than the rest of a small write.
 *
 * A program (`Disk.makesAlike`) finds out whether a folder is plain. Its answer holds until somebody else changes the
 * folder. After changes of this process itself, `keep` notes the new state, for which the answer still holds. If
 * somebody changes an access control list during an apply, this class may not notice the change. Therefore, the program
 * is asked again after `USES` applies.
 */
export class PlainFolders {
  readonly #disk: Disk;
  readonly #known = new RecentMap<string, Known>(FOLDERS);
  /** Maps the absolute path of a folder without an answer to the number of applies that met the folder. */
  readonly #unknown = new RecentMap<string, number>(FOLDERS);
  /** The folders whose known state was compared with the disk at the beginning of the present apply. */
  readonly #compared = new Set<string>();
  /** The number of consecutive questions that the program has not answered. */
  #unanswered = 0;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** Must be called at the beginning of each apply. A worktree carries out one apply at a time. */
  begin(): void {
    this.#compared.clear();
  }

  /**
   * Returns the plain folders among those of an apply. A folder without an answer counts as not plain. The second,
   * fourth, eighth … apply that meets such a folder asks the program. The first apply does not ask, because most
   * processes write to a folder only once, and the program takes longer than making a place. If an answer is too old,
   * asks again at once.
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
   * Notes the new states of the folders in which an apply has changed names. Skips a folder that was not compared at
   * the beginning of the apply, or whose last change was not a change of names.
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

/** Returns a text that differs between two folders, and between two states of a folder with different attributes. */
function markOf(stat: FileStat | undefined): string {
  return stat === undefined ? "" : `${stat.dev} ${stat.ino} ${stat.uid} ${stat.gid} ${stat.mode}`;
}

function stateOf({ dev, ino, ctimeNs }: FileStat): FolderState {
  return { dev, ino, ctimeNs };
}

function isSame(a: FolderState, b: FolderState): boolean {
  return a.ctimeNs === b.ctimeNs && a.ino === b.ino && a.dev === b.dev;
}
