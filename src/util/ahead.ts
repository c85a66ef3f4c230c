/**
 * Runs `work` on at most `most` items at once. Yields the results in the order of the items. Stops at the first error.
 */
export async function* ahead<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  most: number,
  work: (item: T) => Promise<R>,
): AsyncIterable<R> {
  const going: Promise<R>[] = [];
  for await (const item of items) {
    const begun = work(item);
    // This promise is awaited only when its turn comes. Without this handler, Node would report an earlier rejection as
    // unhandled.
    begun.catch(() => undefined);
    going.push(begun);
    if (going.length < most) continue;
    const [first] = going.splice(0, 1);
    if (first !== undefined) yield await first;
  }
  for (const one of going) yield await one;
}

/**
 * Reads the first item, so that the source has opened its resources when the promise resolves. Returns all items
 * (including the first), which can be iterated once. The resources stay open until the iteration ends or the result is
 * disposed of.
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
