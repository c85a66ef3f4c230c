/** So many refusals in a row are normal: one batch after the other. */
const MOST_REFUSALS = 3;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Returns the ms to wait, after so many refusals, before refused changes are compared again. The origin may know what
 * is not held here yet: deciding again at once would decide the same, and fill both histories with it.
 */
export function pauseAfter(refusals: number): number {
  return refusals <= MOST_REFUSALS ? 0 : Math.min(LONGEST_PAUSE_MS, 10 * 2 ** (refusals - MOST_REFUSALS));
}
