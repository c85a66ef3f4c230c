import type { Change, Entry } from "../values/entry.ts";
import type { WorkspacePath } from "../values/path.ts";

/** The least similarity of two contents, in percent, at which one counts as the other one renamed. Git's is the same. */
export const LEAST_SIMILARITY = 50;

/** A deleted and a created file that are one renamed file. */
export interface Rename {
  readonly gone: FileGone;
  readonly made: FileMade;
  /** How much of the larger content is in the other one, in percent. 100 only for equal contents. */
  readonly similarity: number;
}

/** The renames of a list of changes, by the path of the created file. */
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
 * Returns the deleted and the created files among changes. Leaves out empty files, because nothing tells one of them
 * from another, and paths with several changes, because such a path has several contents.
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
 * Pairs files with equal contents. Among several, a file with the same name comes first, then the first in the given
 * order.
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

/** True if the sizes of two contents allow that they are similar enough. */
export function canBeSimilar(one: number, other: number): boolean {
  return Math.min(one, other) * 100 >= Math.max(one, other) * LEAST_SIMILARITY;
}

/** Returns a test that is true for a size to which one of these sizes can be similar. */
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

/** The lines of a content: the number of bytes in each line, by a hash of the line. */
export type LineWeights = ReadonlyMap<number, number>;

/** Longer lines are split, so that one edit in a very long line does not make the whole line differ. */
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

/** The constants of the hash FNV-1a of 32 bits. */
const FNV_BASIS = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

/**
 * Pairs files with similar contents, the most similar ones first, then those with the same name, then in the given
 * order. `weightsOf`: the lines of a content; `undefined` if it is not compared. `budget`: the
 * number of lines that may still be compared. Once it is spent, the remaining files are not compared.
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
      // Only equal contents are 100 % similar. Others can have the same lines in another order.
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
