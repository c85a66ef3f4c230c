import type { Tree } from "./model-tree.ts";

/**
 * The hidden paths: those that a capture may omit because they are too large, unreadable, or named by a rule. The model
 * does not compute what is recorded of them. It only checks that states of them that were never recorded survive every
 * operation.
 */
export class Veil {
  /**
   * Hidden names and paths stay hidden for ever. Rules come and go, and what a restore leaves alone depends on what was
   * omitted at that time.
   */
  readonly #names = new Set<string>();
  readonly #paths = new Set<string>();
  /** The folders that held something hidden at some time. */
  readonly #above = new Set<string>();

  addName(name: string): void {
    this.#names.add(name);
  }

  addPath(path: string): void {
    this.#paths.add(path);
  }

  get isEmpty(): boolean {
    return this.#names.size + this.#paths.size === 0;
  }

  /** True if the path or a folder above it is hidden. */
  hides(path: string): boolean {
    if (this.isEmpty) return false;
    const names = path.slice(path.startsWith("@") ? path.indexOf(":") + 1 : 0).split("/");
    if (names.some((name) => this.#names.has(name))) return true;
    return [...this.#paths].some((one) => path === one || path.startsWith(`${one}/`));
  }

  /** Notes the folders above hidden paths on disk. Such a folder may stay because of what is hidden in it. */
  note(tree: Tree): void {
    if (this.isEmpty) return;
    for (const path of tree.keys()) {
      if (!this.hides(path)) continue;
      for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1))
        this.#above.add(path.slice(0, end));
    }
  }

  /** True if the folder held something hidden at some time. */
  isAbove(folder: string): boolean {
    return this.#above.has(folder);
  }

  /** Returns the paths that are not hidden, without the folders that may stay because of something hidden. */
  clear(tree: Tree): Map<string, string> {
    return new Map([...tree].filter(([path]) => !this.hides(path) && !this.isAbove(path)));
  }
}
