/**
 * Appends items one by one. A spread into `push` would pass all items on the stack, which overflows at about 120,000. A
 * workspace may have more paths than that, and a history may have more actions.
 */
export function addAll<T>(list: T[], more: Iterable<NoInfer<T>>): void {
  for (const one of more) list.push(one);
}

/** Returns the least of any number of numbers. For none, returns positive infinity, as `Math.min()` does. */
export function leastOf(numbers: Iterable<number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const one of numbers) least = Math.min(least, one);
  return least;
}

/** Returns the greatest of any number of numbers. For none, returns negative infinity, as `Math.max()` does. */
export function greatestOf(numbers: Iterable<number>): number {
  let greatest = Number.NEGATIVE_INFINITY;
  for (const one of numbers) greatest = Math.max(greatest, one);
  return greatest;
}
