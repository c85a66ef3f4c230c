/** The error that prevented a removal. */
interface Failure {
  readonly error: unknown;
}

/**
 * Removes what applies have set aside, in the background: one after the other, in the order in which they were added.
 */
export class TrashBin {
  /** The removals by token. They never reject. */
  readonly #going = new Map<string, Promise<Failure | undefined>>();
  #last: Promise<unknown> = Promise.resolve();

  /** Adds a removal. Calls `empty` once all earlier ones are done. */
  add(token: string, empty: () => Promise<void>): void {
    const before = this.#going.get(token);
    const going = this.#last.then(async () => (await attempt(empty)) ?? before);
    this.#last = going;
    this.#going.set(token, going);
  }

  /**
   * Resolves to true once the removals with this token are done. Resolves to false if there were none, or the token was
   * already asked for. Throws the error that prevented one.
   */
  async emptied(token: string): Promise<boolean> {
    const going = this.#going.get(token);
    if (going === undefined) return false;
    const failure = await going;
    this.#going.delete(token);
    if (failure !== undefined) throw failure.error;
    return true;
  }

  /** Resolves once no removal is under way. What could not be removed is left for a later sweep. */
  async end(): Promise<void> {
    await this.#last;
  }
}

async function attempt(empty: () => Promise<void>): Promise<Failure | undefined> {
  try {
    await empty();
    return undefined;
  } catch (error) {
    return { error };
  }
}
