import { indexedName, placeInIndex, type GitIndex } from "./git-index.ts";
import { decodeName, pathToBytes } from "../values/path.ts";

/** What git tracks in a repository, whatever its ignore rules say. Paths are relative to the workspace's root. */
export interface TrackedPaths {
  /** Does git track this very path, as what it is: a file or link, or a folder that is a repository of its own? */
  has(path: string, isFolder: boolean): boolean;
  /** Does git track something in the folder? */
  hasBeneath(path: string): boolean;
}

/** Paths with the case of ASCII letters left out, as git compares them where `core.ignoreCase` is set. */
export function foldCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Tracked paths from a list. A path that ends with `/` is a repository of its own. */
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

/** Where a working tree lies, seen from a workspace's root. */
export interface TreePlace {
  /** The folder beneath the root in which it begins; `""`: at the root, or above it. */
  readonly folder: string;
  /** The way from its top down to the root, such as `packages/x`; `""`: it begins at the root or beneath it. */
  readonly above: string;
}

/** Tracked paths straight from an index: nothing is made of it but what is asked for. */
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

/** The tracked paths of an index that lie in the root, relative to it; repositories end with `/`. Asked for one after the other. */
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
