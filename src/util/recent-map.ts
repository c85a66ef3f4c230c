/**
 * A map that remembers what was put last: at least `size` keys, at most twice as many. It forgets by generations: to take the
 * oldest key out of a `Map`, one after the other, means to step over the holes of all that were taken out before.
 */
export class RecentMap<Key, Value> {
  readonly #size: number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();

  constructor(size: number) {
    this.#size = size;
  }

  get(key: Key): Value | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  put(key: Key, value: Value): void {
    if (this.#young.size >= this.#size && !this.#young.has(key)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  delete(key: Key): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
