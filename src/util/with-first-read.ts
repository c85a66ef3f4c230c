/**
 * The same items, of which the first was read already: what the reading needs is open when this resolves, until it ends or is disposed of.
 * To be gone through once.
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
