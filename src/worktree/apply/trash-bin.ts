/** What hindered the removal. */
interface Failure {
  readonly error: unknown;
}

/** What applies have set aside, on its way out beside what else is done: one after the other, in the order in which they came. */
export class TrashBin {
  /** By token, what becomes of it. They never reject. */
  readonly #going = new Map<string, Promise<Failure | undefined>>();
  #last: Promise<unknown> = Promise.resolve();

  /** `empty` is called when all that came before is gone. */
  add(token: string, empty: () => Promise<void>): void {
    const before = this.#going.get(token);
    const going = this.#last.then(async () => (await attempt(empty)) ?? before);
    this.#last = going;
    this.#going.set(token, going);
  }

  /**
   * Resolves when what was added with this token is gone; false where nothing was, or it was asked about before. Throws what
   * hindered it.
   */
  async emptied(token: string): Promise<boolean> {
    const going = this.#going.get(token);
    if (going === undefined) return false;
    const failure = await going;
    this.#going.delete(token);
    if (failure !== undefined) throw failure.error;
    return true;
  }

  /** Resolves when nothing is under way any more. What could not go is left to who looks for it. */
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
