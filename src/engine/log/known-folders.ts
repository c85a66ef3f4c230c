import type { FolderLeaves } from "../../core/tree/folder-leaves.ts";
import type { WorkspacePath } from "../../core/values/path.ts";

/**
 * Caches the folders that were hashed last, with all their nodes, so that the next root costs only what has changed in
 * them. Without the cache each write would read and hash its whole folder: 49 ms instead of 2 in one of 5,000 files.
 */

/** The number of children that each index keeps, about 200 bytes each. */
const MOST_CHILDREN = 50_000;
/** Each folder counts as this many more children, so that there are not too many to copy. */
const FOLDER = 25;

/** Folders as of a seq. */
export class KnownFolders {
  readonly #folders: Map<WorkspacePath, FolderLeaves>;
  #children: number;

  constructor(folders: ReadonlyMap<WorkspacePath, FolderLeaves> = new Map(), children = 0) {
    this.#folders = new Map(folders);
    this.#children = children;
  }

  get(folder: WorkspacePath): FolderLeaves | undefined {
    return this.#folders.get(folder);
  }

  /** Sets a folder's leaves; `undefined` if it is no folder, or not known any more. */
  set(folder: WorkspacePath, leaves: FolderLeaves | undefined): void {
    const before = this.#folders.get(folder);
    if (before !== undefined) this.#children -= before.size + FOLDER;
    this.#folders.delete(folder);
    if (leaves === undefined || leaves.size > MOST_CHILDREN) return;
    this.#folders.set(folder, leaves);
    this.#children += leaves.size + FOLDER;
    // Evicts the folder that was set longest ago first.
    for (const [oldest, { size }] of this.#folders) {
      if (this.#children <= MOST_CHILDREN) return;
      this.#folders.delete(oldest);
      this.#children -= size + FOLDER;
    }
  }

  /** Returns a copy, for changes that may not happen. */
  behind(): KnownFolders {
    return new KnownFolders(this.#folders, this.#children);
  }
}
