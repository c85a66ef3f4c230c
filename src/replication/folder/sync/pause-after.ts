/** Several in a row are nothing special: a batch after the other. */
const MOST_REFUSALS = 3;
const LONGEST_PAUSE_MS = 1_000;

/**
 * So long after so many refusals it is looked at what was refused, in ms. The origin may know what is not held here yet: whoever
 * decides again at once decides the same, and fills both histories with it.
 */
export function pauseAfter(refusals: number): number {
  return refusals <= MOST_REFUSALS ? 0 : Math.min(LONGEST_PAUSE_MS, 10 * 2 ** (refusals - MOST_REFUSALS));
}
