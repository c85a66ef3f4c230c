import { leastOf } from "../../util/long-lists.ts";

/**
 * Returns the minimum number of edits that turn `a` into `b`. An edit changes, adds or removes one letter, or swaps two
 * neighbouring letters. Swapped letters are not edited again.
 */
export function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const costs = [(row[j - 1] ?? 0) + 1, (last[j] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1)];
      if (swapped) costs.push((before[j - 2] ?? 0) + 1);
      row.push(leastOf(costs));
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

/**
 * Returns up to `most` of the `words` that are similar to a misspelt `word`, the most similar first. A word is similar
 * if the number of edits is at most a third of the number of letters of `word`. One edit is always allowed.
 */
export function closestTo(word: string, words: readonly string[], most: number): string[] {
  const limit = Math.max(1, Math.floor(word.length / 3));
  const near = words.flatMap((candidate) => {
    if (Math.abs(candidate.length - word.length) > limit) return [];
    const far = distance(word, candidate);
    return far <= limit ? [{ candidate, far }] : [];
  });
  return near
    .sort((a, b) => a.far - b.far)
    .slice(0, most)
    .map((item) => item.candidate);
}
