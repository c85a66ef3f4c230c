/**
 * Appends items one by one. A spread into `push` hands each of them over as an argument, and arguments lie on the stack,
 * which overflows at about 120,000: a workspace has more paths than that, and a history more actions.
 */
export function addAll<T>(list: T[], more: Iterable<NoInfer<T>>): void {
  for (const one of more) list.push(one);
}

/** The least of any number of numbers; positive infinity of none, as `Math.min()` says. */
export function leastOf(numbers: Iterable<number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const one of numbers) least = Math.min(least, one);
  return least;
}

/** The greatest of any number of numbers; negative infinity of none, as `Math.max()` says. */
export function greatestOf(numbers: Iterable<number>): number {
  let greatest = Number.NEGATIVE_INFINITY;
  for (const one of numbers) greatest = Math.max(greatest, one);
  return greatest;
}
