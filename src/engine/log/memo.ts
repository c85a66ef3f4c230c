export interface MemoKey<T> {
  readonly name: string;
  /** The type of the value, for the compiler only. This field is never set. */
  readonly type?: T;
}

export function memoKey<T>(name: string): MemoKey<T> {
  return { name };
}

/** The caches of one open history. Each cached value is derived from the log, so losing a value only costs time. */
export class Memo {
  readonly #values = new Map<MemoKey<unknown>, unknown>();

  get<T>(key: MemoKey<T>): T | undefined {
    return this.#values.get(key) as T | undefined;
  }

  set<T>(key: MemoKey<T>, value: T): void {
    this.#values.set(key, value);
  }

  delete(key: MemoKey<unknown>): void {
    this.#values.delete(key);
  }
}
