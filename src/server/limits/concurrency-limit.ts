/** Limits how many of something each caller may have at once. */
export class ConcurrencyLimit {
  readonly #most: number;
  readonly #taken = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Takes one of the caller's slots; dispose the result to release it. `undefined` if the caller has as many as it may.
   */
  take(caller: string): Disposable | undefined {
    const taken = this.#taken.get(caller) ?? 0;
    if (taken >= this.#most) return undefined;
    this.#taken.set(caller, taken + 1);
    let isBack = false;
    const giveBack = (): void => {
      if (isBack) return;
      isBack = true;
      const left = (this.#taken.get(caller) ?? 1) - 1;
      if (left === 0) this.#taken.delete(caller);
      else this.#taken.set(caller, left);
    };
    return { [Symbol.dispose]: giveBack };
  }
}
