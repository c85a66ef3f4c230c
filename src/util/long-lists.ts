/**
 * Appends items one by one. A spread into `push` passes each of them as an argument on the stack, which overflows at
 * about 120,000: a workspace may have more paths than that, and a history more actions.
 */
export function addAll<T>(list: T[], more: Iterable<NoInfer<T>>): void {
  for (const one of more) list.push(one);
}

/** Returns the least of any number of numbers; positive infinity for none, like `Math.min()`. */
export function leastOf(numbers: Iterable<number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const one of numbers) least = Math.min(least, one);
  return least;
}

/** Returns the greatest of any number of numbers; negative infinity for none, like `Math.max()`. */
export function greatestOf(numbers: Iterable<number>): number {
  let greatest = Number.NEGATIVE_INFINITY;
  for (const one of numbers) greatest = Math.max(greatest, one);
  return greatest;
}
