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
