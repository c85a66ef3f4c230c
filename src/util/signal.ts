/** Notifies listeners in this process of events. */
export class Signal<What> {
  readonly #listeners = new Set<(what: What) => void>();

  /** Calls `listener` at each `emit`, until the result is disposed of. `listener` must not throw. */
  listen(listener: (what: What) => void): Disposable {
    // A separate function is registered, so that the same listener can be registered twice.
    const own = (what: What): void => listener(what);
    this.#listeners.add(own);
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }

  emit(what: What): void {
    for (const listener of this.#listeners) listener(what);
  }
}
