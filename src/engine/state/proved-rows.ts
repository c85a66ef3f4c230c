import { type Change, type Entry, sameEntry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import { ManifestHasher } from "../../core/tree/merkle.ts";
import { childOf, displayPath, type WorkspacePath } from "../../core/values/path.ts";
import { disagreeing, IndexDisagrees } from "../log/index-disagrees.ts";
import { type ProofContext, type ProvedState, provedState, sameStated, type Claim } from "./proved-state.ts";
import { rootFolders } from "../log/tree.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { addAll } from "../../util/long-lists.ts";
import { linesSay, type LineSays, startOf } from "./row-line.ts";
import { optional } from "../../util/optional.ts";

// Each iteration is proved by its own line of the log, or by the base on which the history starts.

/** Throws `IndexDisagrees` unless the log recorded all these iterations. */
export async function proveRows(context: ProofContext, rows: readonly IterationRow[]): Promise<void> {
  await disagreeing(async () => {
    await prove(context, rows);
  });
}

/**
 * Proves each iteration. Returns for each iteration whether it has its own line (`same`) or is in a base (`in-base`).
 * Throws `IndexDisagrees` if a row is wrong.
 */
async function prove(context: ProofContext, rows: readonly IterationRow[]): Promise<readonly LineSays[]> {
  const said = await linesSay(context, rows);
  rows.forEach((row, i) => {
    if (said[i] === "other") throw wrongAbout(row);
  });
  const inBase = rows.filter((_, i) => said[i] === "in-base");
  if (inBase.length > 0) await (await provedState(context, await startOf(context))).prove(inBase);
  return said;
}

/**
 * An answer of the index about a path. All answers are checked, because a damaged index can give a different answer
 * each time.
 */
export interface PathClaim {
  readonly path: WorkspacePath;
  /** An event of the path that the log has recorded. */
  readonly seq?: number;
  /** The state right before event `seq`. */
  readonly before?: Pick<Claim, "entry">;
  /** The last state of the path. */
  readonly now?: Pick<Claim, "entry">;
}

/**
 * Throws `IndexDisagrees` unless the index has all iterations of these paths up to event `seq`. Each iteration must be
 * proved by its own line or by a base. The iteration numbers must have no gap. The last iteration must be the path's
 * state after the event. All iterations must agree with the claims.
 */
export async function proveHistories(context: ProofContext, claims: readonly PathClaim[], seq: number): Promise<void> {
  await disagreeing(async () => {
    const rows: IterationRow[] = [];
    const last: Claim[] = [];
    for (const [path, known] of Map.groupBy(claims, (one) => one.path)) {
      const own = (await context.index.iterations(path)).filter((row) => row.seq <= seq);
      refuseGaps(own);
      const places = new Map(own.map((row, i) => [row.seq, i]));
      for (const claim of known) refuseOther(own, claim, places);
      addAll(rows, own);
      last.push({ path, entry: own.at(-1)?.entry });
    }
    const said = await prove(context, rows);
    rows.forEach((row, i) => {
      const isFirst = rows[i - 1]?.path !== row.path;
      // If the first known iteration of a path has a number above 1, it must be in a base.
      if (isFirst && row.iteration !== 1 && said[i] !== "in-base") throw wrongAbout(row);
    });
    await (await provedState(context, seq)).prove(last);
  });
}

/**
 * Throws `IndexDisagrees` unless these are the last iterations of the paths up to event `seq`. A `row` is `undefined`
 * if its path has no iteration, or if a compaction has removed all iterations of the path.
 */
export async function proveLast(
  context: ProofContext,
  rows: readonly { readonly path: WorkspacePath; readonly row: IterationRow | undefined }[],
  seq: number,
): Promise<void> {
  await disagreeing(async () => {
    const state = await provedState(context, seq);
    await state.prove(rows.map(({ path, row }) => ({ path, entry: row?.entry })));
    const known = rows.flatMap(({ row }) => row ?? []);
    for (const row of known) if (state.knowsOther(row)) throw wrongAbout(row);
    await prove(
      context,
      known.filter((row) => row.seq <= state.root.seq),
    );
  });
}

/** Throws `IndexDisagrees` if the iterations of a path have a gap, or are not in the order of their events. */
function refuseGaps(rows: readonly IterationRow[]): void {
  rows.forEach((row, i) => {
    const before = rows[i - 1];
    const isNext = before === undefined || (row.iteration === before.iteration + 1 && row.seq > before.seq);
    if (!isNext) throw wrongAbout(row);
  });
}

/** Throws `IndexDisagrees` if the iterations of a path contradict a claim. */
function refuseOther(
  rows: readonly IterationRow[],
  { path, seq, before, now }: PathClaim,
  places: ReadonlyMap<number, number>,
): void {
  const at = seq === undefined ? 0 : places.get(seq);
  const isOther =
    at === undefined ||
    (before !== undefined && !sameEntry(rows[at - 1]?.entry, before.entry)) ||
    (now !== undefined && !sameEntry(rows.at(-1)?.entry, now.entry));
  if (isOther) throw new IndexDisagrees(`the history of ${displayPath(path)}`, { path, ...optional({ seq }) });
}

function wrongAbout({ path, iteration, seq }: IterationRow): IndexDisagrees {
  return new IndexDisagrees(`iteration ${iteration} of ${displayPath(path)}`, { path, iteration, seq });
}

/**
 * Throws `IndexDisagrees` unless these are all the changes between the states after the events `from` and `to`. A
 * comparison of two trees with proved roots finds all paths that differ. The comparison reveals changes that the index
 * lacks, and changes that the index made up.
 */
export async function proveChanges(
  context: ProofContext,
  changes: readonly Change[],
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  await disagreeing(async () => {
    const [before, after] = [await provedState(context, from), await provedState(context, to)];
    await before.prove(changes.map((one) => ({ path: one.path, entry: one.before })));
    await after.prove(changes.map((one) => ({ path: one.path, entry: one.after })));
    const known = new Set(changes.map((one) => one.path));
    const differing = new Set([...before.touched, ...after.touched]);
    if (before.root.seq !== after.root.seq) {
      for (const root of rootFolders(context)) await difference([before, after], root, differing);
    }
    for (const path of differing) {
      if (known.has(path) || sameStated(await before.at(path), await after.at(path))) continue;
      throw new IndexDisagrees(`the state of ${displayPath(path)}`, { path, from, to });
    }
  });
}

/**
 * Adds the paths beneath `top` that differ between the two states to `differing`. Folders with the same hash are not
 * read.
 */
async function difference(
  [before, after]: readonly [ProvedState, ProvedState],
  top: WorkspacePath,
  differing: Set<WorkspacePath>,
): Promise<void> {
  const pending = [top];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    const [old, fresh] = [await before.childrenOf(folder), await after.childrenOf(folder)];
    for (const name of new Set([...(old?.keys() ?? []), ...(fresh?.keys() ?? [])])) {
      const [a, b] = [old?.get(name), fresh?.get(name)];
      if (a !== undefined && b !== undefined && a.kind === b.kind && a.mode === b.mode && a.hash === b.hash) continue;
      const path = childOf(folder, name);
      differing.add(path);
      if (a?.kind === "dir" || b?.kind === "dir") pending.push(path);
    }
  }
}

/**
 * Returns the entries of the state after event `seq`, in path order. The proof shows that no entry is missing, and that
 * none is made up. If no path was recorded after the root that the log states, the root of all entries is the proof.
 * Otherwise, and if the two roots differ, each path is proved, so that the error can name the wrong one.
 */
export async function provedEntries(context: ProofContext, seq: number): Promise<Entry[]> {
  return disagreeing(async () => {
    const entries: Entry[] = [];
    for await (const rows of context.index.entriesAt(seq))
      for (const { entry } of rows) if (entry !== undefined) entries.push(entry);
    const state = await provedState(context, seq);
    const [touched] = state.touched;
    if (touched === undefined && rootOf(context, entries) === state.root.root) return entries;
    await state.prove(entries.map((entry) => ({ path: entry.path, entry })));
    const found = new Set(entries.map((entry) => entry.path));
    for await (const path of state.paths()) {
      if (!found.has(path)) throw new IndexDisagrees(`the state of ${displayPath(path)}`, { path, seq });
    }
    state.letGo();
    return entries;
  });
}

/**
 * Returns the Merkle root of entries in path order; `undefined` if they have none, for instance because the entry of a
 * folder is missing.
 */
function rootOf({ worktree }: ProofContext, entries: readonly Entry[]): Hash | undefined {
  try {
    const hasher = new ManifestHasher();
    for (const entry of entries) hasher.add(entry);
    return hasher.finish(worktree.roots.flatMap(({ id }) => id ?? []));
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "INTEGRITY_VIOLATION") return undefined;
    throw error;
  }
}
