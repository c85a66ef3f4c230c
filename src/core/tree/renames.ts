import type { Change, Entry } from "../values/entry.ts";
import type { WorkspacePath } from "../values/path.ts";

/**
 * The least similarity, in percent, at which a deleted and a created file count as one renamed file. Git uses the same
 * value.
 */
export const LEAST_SIMILARITY = 50;

/** A deleted and a created file that are one renamed file. */
export interface Rename {
  readonly gone: FileGone;
  readonly made: FileMade;
  /** The part of the larger content that the other content also has, in percent. Only equal contents have 100. */
  readonly similarity: number;
}

/** Maps the path of a created file to its rename. */
export type Renames = ReadonlyMap<WorkspacePath, Rename>;

type FileEntry = Entry & { readonly hash: NonNullable<Entry["hash"]> };
export type FileGone = Change & { readonly before: FileEntry; readonly after: undefined };
export type FileMade = Change & { readonly before: undefined; readonly after: FileEntry };

/** Deleted and created files that may belong together. */
export interface RenameSides {
  readonly gone: readonly FileGone[];
  readonly made: readonly FileMade[];
}

/**
 * Returns the deleted and the created files among changes. Leaves out empty files, because they cannot be told apart.
 * Also leaves out paths with several changes, because such a path has several contents.
 */
export function renameSides(changes: readonly Change[]): RenameSides {
  const times = new Map<WorkspacePath, number>();
  for (const { path } of changes) times.set(path, (times.get(path) ?? 0) + 1);
  const single = changes.filter(({ path }) => times.get(path) === 1);
  return { gone: single.filter(isFileGone), made: single.filter(isFileMade) };
}

function isFileGone(change: Change): change is FileGone {
  return change.after === undefined && isTelling(change.before);
}

function isFileMade(change: Change): change is FileMade {
  return change.before === undefined && isTelling(change.after);
}

function isTelling(entry: Entry | undefined): entry is FileEntry {
  return entry?.kind === "file" && entry.size > 0 && entry.hash !== undefined;
}

/**
 * Pairs created files with deleted files of equal content. If several deleted files have this content, prefers a file
 * with the same name, and then the first file in the given order.
 */
export function equalRenames({ gone, made }: RenameSides): Rename[] {
  const byHash = Map.groupBy(gone, ({ before }) => before.hash);
  const renames: Rename[] = [];
  const pair = (isWanted: (one: FileGone, other: FileMade) => boolean): void => {
    const known = new Set(renames.map((one) => one.made));
    for (const other of made) {
      const equal = known.has(other) ? undefined : byHash.get(other.after.hash);
      const at = equal?.findIndex((one) => isWanted(one, other)) ?? -1;
      const [found] = at < 0 ? [] : (equal?.splice(at, 1) ?? []);
      if (found !== undefined) renames.push({ gone: found, made: other, similarity: 100 });
    }
  };
  pair(hasSameName);
  pair(() => true);
  return renames;
}

function hasSameName(one: Change, other: Change): boolean {
  return nameOf(one.path) === nameOf(other.path);
}

function nameOf(path: WorkspacePath): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Returns the sides without the files of these renames. */
export function withoutRenamed({ gone, made }: RenameSides, renames: readonly Rename[]): RenameSides {
  const known = new Set<Change>(renames.flatMap((one) => [one.gone, one.made]));
  return { gone: gone.filter((one) => !known.has(one)), made: made.filter((one) => !known.has(one)) };
}

/** Returns true if contents of these two sizes can have the similarity `LEAST_SIMILARITY` or a higher one. */
export function canBeSimilar(one: number, other: number): boolean {
  return Math.min(one, other) * 100 >= Math.max(one, other) * LEAST_SIMILARITY;
}

/**
 * Returns a function that takes a size. The function returns true if a content of this size can be similar to a content
 * of one of the given `sizes`.
 */
export function similarSizes(sizes: readonly number[]): (size: number) => boolean {
  const sorted = sizes.toSorted((a, b) => a - b);
  return (size) => {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sorted[middle] ?? 0) * 100 < size * LEAST_SIMILARITY) low = middle + 1;
      else high = middle;
    }
    const nearest = sorted[low];
    return nearest !== undefined && canBeSimilar(nearest, size);
  };
}

/** The lines of a content. Maps the hash of each different line to the total number of bytes of its occurrences. */
export type LineWeights = ReadonlyMap<number, number>;

/**
 * The maximum length of a line, in bytes. Longer lines are split, so that one edit in a very long line does not make
 * the whole line differ.
 */
const LONGEST_LINE = 64;
const NEWLINE = 0x0a;

export function lineWeights(content: Uint8Array): LineWeights {
  const weights = new Map<number, number>();
  let [hash, length] = [FNV_BASIS, 0];
  const end = (): void => {
    if (length > 0) weights.set(hash, (weights.get(hash) ?? 0) + length);
    [hash, length] = [FNV_BASIS, 0];
  };
  for (const byte of content) {
    hash = Math.imul(hash ^ byte, FNV_PRIME);
    length += 1;
    if (byte === NEWLINE || length === LONGEST_LINE) end();
  }
  end();
  return weights;
}

/** The constants of the 32-bit hash FNV-1a. */
const FNV_BASIS = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

/**
 * Pairs deleted and created files with similar contents. The most similar files are paired first. Among equally similar
 * files, those with the same name come first, and then the order of the lists decides.
 *
 * `weightsOf` returns the lines of a file's content; `undefined` if the content must not be compared. `budget.steps` is
 * the number of lines that may still be compared. Once the budget is spent, the remaining files are not compared.
 */
export function similarRenames(
  { gone, made }: RenameSides,
  weightsOf: (file: Change) => LineWeights | undefined,
  budget: { steps: number },
): Rename[] {
  const found: Rename[] = [];
  for (const other of made)
    for (const one of gone) {
      const [before, after] = [weightsOf(one), weightsOf(other)];
      if (before === undefined || after === undefined || !canBeSimilar(one.before.size, other.after.size)) continue;
      budget.steps -= Math.min(before.size, after.size);
      if (budget.steps < 0) return bestPairs(found);
      const larger = Math.max(one.before.size, other.after.size);
      // Different contents can have the same lines in another order. Such contents are at most 99 % similar, because
      // 100 % stands for equal contents.
      const similarity = Math.min(99, Math.floor((sharedBytes(before, after) * 100) / larger));
      if (similarity >= LEAST_SIMILARITY) found.push({ gone: one, made: other, similarity });
    }
  return bestPairs(found);
}

function sharedBytes(one: LineWeights, other: LineWeights): number {
  const [few, many] = one.size < other.size ? [one, other] : [other, one];
  let shared = 0;
  for (const [hash, bytes] of few) shared += Math.min(bytes, many.get(hash) ?? 0);
  return shared;
}

function bestPairs(found: readonly Rename[]): Rename[] {
  const rank = ({ gone, made }: Rename): number => (hasSameName(gone, made) ? 0 : 1);
  const best = found.toSorted((a, b) => b.similarity - a.similarity || rank(a) - rank(b));
  const known = new Set<Change>();
  return best.filter(({ gone, made }) => {
    const isFree = !known.has(gone) && !known.has(made);
    if (isFree) known.add(gone).add(made);
    return isFree;
  });
}
