/** Runs `work` on items, up to `most` at once, and yields the results in item order. The first failure ends it. */
export async function* ahead<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  most: number,
  work: (item: T) => Promise<R>,
): AsyncIterable<R> {
  const going: Promise<R>[] = [];
  for await (const item of items) {
    const begun = work(item);
    // A failure is reported in its turn; until then nobody awaits it.
    begun.catch(() => undefined);
    going.push(begun);
    if (going.length < most) continue;
    const [first] = going.splice(0, 1);
    if (first !== undefined) yield await first;
  }
  for (const one of going) yield await one;
}

/**
 * Returns the same items after reading the first one: the resources of the reading are open when this resolves, until
 * the iteration ends or is disposed of. Can be iterated once.
 */
export async function withFirstRead<T>(items: AsyncIterable<T>): Promise<AsyncIterable<T> & AsyncDisposable> {
  const iterator = items[Symbol.asyncIterator]();
  const first = await iterator.next();
  const end = async (): Promise<void> => {
    await iterator.return?.();
  };
  async function* all(): AsyncGenerator<T> {
    try {
      for (let next = first; next.done !== true; next = await iterator.next()) yield next.value;
    } finally {
      await end();
    }
  }
  return { [Symbol.asyncIterator]: all, [Symbol.asyncDispose]: end };
}
