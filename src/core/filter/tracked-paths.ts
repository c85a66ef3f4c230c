import { indexedName, placeInIndex, type GitIndex } from "./git-index.ts";
import { decodeName, pathToBytes } from "../values/path.ts";

/** The paths that git tracks in a repository, relative to the workspace's root. */
export interface TrackedPaths {
  /**
   * Returns true if git tracks the path itself. For a folder, this means that git tracks it as a separate repository.
   */
  has(path: string, isFolder: boolean): boolean;
  /** Returns true if git tracks anything beneath the folder. */
  hasBeneath(path: string): boolean;
}

/** Converts ASCII letters to lower case, as git does when it compares paths with `core.ignoreCase`. */
export function foldCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Tracked paths that are given as a list. A path that ends with `/` stands for a separate repository. */
export class ListedPaths implements TrackedPaths {
  readonly #paths = new Set<string>();
  readonly #folders = new Set<string>();
  readonly #fold: boolean;

  constructor(paths: Iterable<string>, ignoreCase: boolean) {
    this.#fold = ignoreCase;
    for (const path of paths) {
      const folded = this.#folded(path);
      this.#paths.add(folded);
      for (let at = folded.lastIndexOf("/", folded.length - 2); at > 0; at = folded.lastIndexOf("/", at - 1)) {
        const folder = folded.slice(0, at);
        if (this.#folders.has(folder)) break;
        this.#folders.add(folder);
      }
    }
  }

  has(path: string, isFolder: boolean): boolean {
    return this.#paths.has(this.#folded(isFolder ? `${path}/` : path));
  }

  hasBeneath(path: string): boolean {
    return this.#folders.has(this.#folded(path));
  }

  #folded(path: string): string {
    return this.#fold ? foldCase(path) : path;
  }
}

/** The place of a git working tree in relation to the workspace's root. */
export interface TreePlace {
  /**
   * The folder beneath the root in which the working tree begins; `""` if the working tree begins at the root or above
   * the root.
   */
  readonly folder: string;
  /**
   * The path from the top of the working tree down to the root, such as `packages/x`; `""` if the working tree begins
   * at the root or beneath it.
   */
  readonly above: string;
}

/** Tracked paths that are looked up in a git index. */
export class IndexedPaths implements TrackedPaths {
  readonly #index: GitIndex;
  readonly #place: TreePlace;

  constructor(index: GitIndex, place: TreePlace) {
    this.#index = index;
    this.#place = place;
  }

  has(path: string, isFolder: boolean): boolean {
    const name = this.#nameOf(path);
    const at = placeInIndex(this.#index, name);
    if (at >= this.#index.size || !indexedName(this.#index, at).equals(name)) return false;
    return (this.#index.isRepository[at] === 1) === isFolder;
  }

  hasBeneath(path: string): boolean {
    const start = this.#nameOf(`${path}/`);
    const at = placeInIndex(this.#index, start);
    return at < this.#index.size && indexedName(this.#index, at).subarray(0, start.length).equals(start);
  }

  #nameOf(path: string): Buffer {
    const { folder, above } = this.#place;
    const inner = folder === "" ? path : path.slice(folder.length + 1);
    return pathToBytes(above === "" ? inner : `${above}/${inner}`);
  }
}

/**
 * Yields the tracked paths of an index that lie in the workspace's root. The paths are relative to this root. The path
 * of a separate repository ends with `/`.
 */
export function* pathsInRoot(index: GitIndex, { folder, above }: TreePlace): Generator<string> {
  const outer = pathToBytes(above === "" ? "" : `${above}/`);
  const inner = folder === "" ? "" : `${folder}/`;
  for (let i = placeInIndex(index, outer); i < index.size; i += 1) {
    const name = indexedName(index, i);
    if (outer.length > 0 && !name.subarray(0, outer.length).equals(outer)) return;
    const path = `${inner}${decodeName(name.subarray(outer.length))}`;
    yield index.isRepository[i] === 1 ? `${path}/` : path;
  }
}
