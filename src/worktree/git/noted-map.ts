import type { WorkspacePath } from "../../core/values/path.ts";

/** A map by path that notes which paths were set or deleted since `clearNotes`. */
export class NotedMap<V, P extends string = WorkspacePath> extends Map<P, V> {
  readonly #noted = new Set<P>();

  get noted(): ReadonlySet<P> {
    return this.#noted;
  }

  override set(path: P, value: V): this {
    this.#noted.add(path);
    return super.set(path, value);
  }

  override delete(path: P): boolean {
    if (!super.delete(path)) return false;
    this.#noted.add(path);
    return true;
  }

  clearNotes(): void {
    this.#noted.clear();
  }
}
