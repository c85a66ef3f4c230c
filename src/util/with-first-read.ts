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
