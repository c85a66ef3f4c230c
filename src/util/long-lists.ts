/**
 * Appends items one by one. A spread into `push` would pass all items on the stack, which overflows at about 120,000
 * items. A workspace can have more paths, and a history can have more actions.
 */
export function addAll<T>(list: T[], more: Iterable<NoInfer<T>>): void {
  for (const one of more) list.push(one);
}

/** Returns the least number; positive infinity if there are no numbers, as `Math.min()` does. */
export function leastOf(numbers: Iterable<number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const one of numbers) least = Math.min(least, one);
  return least;
}

/** Returns the greatest number; negative infinity if there are no numbers, as `Math.max()` does. */
export function greatestOf(numbers: Iterable<number>): number {
  let greatest = Number.NEGATIVE_INFINITY;
  for (const one of numbers) greatest = Math.max(greatest, one);
  return greatest;
}
