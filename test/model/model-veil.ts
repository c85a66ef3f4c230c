import type { Tree } from "./model-tree.ts";

/**
 * Paths that a capture may leave out: too large, unreadable, or of a name that a rule keeps out. What is to be recorded of
 * them the model does not work out; but what was never recorded of them must survive whatever the engine does.
 */
export class Veil {
  /** Rules may come and go, and what a restore leaves alone depends on what was left out then: nothing is unveiled. */
  readonly #names = new Set<string>();
  readonly #paths = new Set<string>();
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

  /** Is the path, or a folder above it, one of them? */
  hides(path: string): boolean {
    if (this.isEmpty) return false;
    const names = path.slice(path.startsWith("@") ? path.indexOf(":") + 1 : 0).split("/");
    if (names.some((name) => this.#names.has(name))) return true;
    return [...this.#paths].some((one) => path === one || path.startsWith(`${one}/`));
  }

  /** Takes note of what is on disk: a folder may stay because of something hidden in it. */
  note(tree: Tree): void {
    if (this.isEmpty) return;
    for (const path of tree.keys()) {
      if (!this.hides(path)) continue;
      for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1))
        this.#above.add(path.slice(0, end));
    }
  }

  /** Was something hidden ever in the folder? */
  isAbove(folder: string): boolean {
    return this.#above.has(folder);
  }

  /** The paths that are not hidden, without the folders that may stay because of something that is. */
  clear(tree: Tree): Map<string, string> {
    return new Map([...tree].filter(([path]) => !this.hides(path) && !this.isAbove(path)));
  }
}
