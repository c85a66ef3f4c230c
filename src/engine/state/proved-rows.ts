import { sameEntry } from "../../core/values/entry.ts";
import { displayPath, type WorkspacePath } from "../../core/values/path.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { addAll } from "../../util/long-lists.ts";
import { disagreeing, IndexDisagrees } from "../log/index-disagrees.ts";
import { type Claim, type ProofContext, provedState } from "./proved-state.ts";
import { linesSay, type LineSays, startOf } from "./row-line.ts";
import { optional } from "../../util/optional.ts";

/** Proves iterations, each by what recorded it: its own line, or the base on which the history starts. */

/** Throws `IndexDisagrees` unless each iteration is what the log says of it. */
export async function proveRows(context: ProofContext, rows: readonly IterationRow[]): Promise<void> {
  await disagreeing(async () => {
    await prove(context, rows);
  });
}

/** Proves each iteration, and returns whether the log or a base holds it. Throws if a row is wrong. */
async function prove(context: ProofContext, rows: readonly IterationRow[]): Promise<readonly LineSays[]> {
  const said = await linesSay(context, rows);
  rows.forEach((row, i) => {
    if (said[i] === "other") throw wrongAbout(row);
  });
  const inBase = rows.filter((_, i) => said[i] === "in-base");
  if (inBase.length > 0) await (await provedState(context, await startOf(context))).prove(inBase);
  return said;
}

/** A claim about a path: each answer of the index by itself, because a damaged index gives different ones. */
export interface PathClaim {
  readonly path: WorkspacePath;
  /** An event of the path that the log has recorded. */
  readonly seq?: number;
  /** Its state before that event, as the index told it. */
  readonly before?: Pick<Claim, "entry">;
  /** Its last state, as the index told it. */
  readonly now?: Pick<Claim, "entry">;
}

/**
 * Throws `IndexDisagrees` unless the index has all iterations of these paths up to an event: each is proved by its own
 * line, their numbers leave no gap, the last one is the path's state then, and they agree with the claims.
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
      // Only a base begins a path with an iteration behind the first.
      if (isFirst && row.iteration !== 1 && said[i] !== "in-base") throw wrongAbout(row);
    });
    await (await provedState(context, seq)).prove(last);
  });
}

/**
 * Throws `IndexDisagrees` unless these are the last iterations of the paths up to an event; `undefined`: there is none
 * by then, or none that is left.
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

function refuseGaps(rows: readonly IterationRow[]): void {
  rows.forEach((row, i) => {
    const before = rows[i - 1];
    const isNext = before === undefined || (row.iteration === before.iteration + 1 && row.seq > before.seq);
    if (!isNext) throw wrongAbout(row);
  });
}

/** Throws unless the iterations of a path agree with a claim about them. */
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
  if (isOther) throw new IndexDisagrees(`about ${displayPath(path)}`, { path, ...optional({ seq }) });
}

function wrongAbout({ path, iteration, seq }: IterationRow): IndexDisagrees {
  return new IndexDisagrees(`about iteration ${iteration} of ${displayPath(path)}`, { path, iteration, seq });
}
