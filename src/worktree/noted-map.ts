import type { WorkspacePath } from "../core/path.ts";

/** A map by path that notes which paths were set or deleted since `clearNotes`. */
export class NotedMap<V> extends Map<WorkspacePath, V> {
  readonly #noted = new Set<WorkspacePath>();

  get noted(): ReadonlySet<WorkspacePath> {
    return this.#noted;
  }

  override set(path: WorkspacePath, value: V): this {
    this.#noted.add(path);
    return super.set(path, value);
  }

  override delete(path: WorkspacePath): boolean {
    if (!super.delete(path)) return false;
    this.#noted.add(path);
    return true;
  }

  clearNotes(): void {
    this.#noted.clear();
  }
}
