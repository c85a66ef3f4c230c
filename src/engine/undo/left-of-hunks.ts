import type { WorkspacePath } from "../../core/values/path.ts";
import { holdsSeq } from "../../core/values/seq-ranges.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { addAll } from "../../util/long-lists.ts";
import { unlessGone } from "../capture/paths-gone.ts";
import { type Group, groupsOf, type OwnEvents, type PathGroups, type Rest } from "../facts/own-work.ts";
import type { HunkUndo, UndoneEvents } from "../facts/undone-events.ts";
import type { Context } from "../log/context.ts";
import { withoutGroups } from "./way-back.ts";

/**
 * Returns `own` with the field `rests`: the changes that are left of the events after undos of single hunks. Such an
 * undo has undone only a part of an event's change, so the event does not say which part is left. Let S be the state
 * that the undo wrote to the path, and R the same state without any change of the work. The change that is left is the
 * one from R to S. If a person has repeated an undone hunk since, the hunk is the person's work, and is not undone
 * again.
 */
export async function withRests(context: Context, own: OwnEvents, taken: UndoneEvents): Promise<OwnEvents> {
  const rests = new Map<WorkspacePath, readonly Rest[]>();
  for (const [path, seqs] of own.byPath) {
    const undos = taken.partsAt(path);
    if (undos.length === 0) continue;
    const rows = await context.index.iterations(path);
    const about = undos.map(({ took }) => rows.filter(({ seq }) => holdsSeq(took, seq)).map(({ seq }) => seq));
    const found = await restsAt(context, { path, firsts: own.firsts, rows, undos, about, left: new Map() }, seqs);
    if (found.length > 0) rests.set(path, found);
  }
  return rests.size === 0 ? own : { ...own, rests };
}

interface OwnPath {
  readonly path: WorkspacePath;
  readonly firsts: OwnEvents["firsts"];
  readonly rows: readonly IterationRow[];
  /** The undos in force that undid only some hunks of the path, the newest first. */
  readonly undos: readonly HunkUndo[];
  /** For each undo, the seqs of the events that the undo undid in part. */
  readonly about: readonly (readonly number[])[];
  /**
   * Caches what each undo has left, by the index of the undo. Without this cache, the time would double with each undo.
   */
  readonly left: Map<number, readonly Rest[]>;
}

/** Returns what is left of the events `seqs` after the undos from index `from` on. */
async function restsAt(context: Context, path: OwnPath, seqs: ReadonlySet<number>, from = 0): Promise<readonly Rest[]> {
  const found: Rest[] = [];
  const known = new Set<number>();
  for (const [i, about] of path.about.entries()) {
    if (i < from) continue;
    const isMeant = about.length > 0 && about.every((seq) => seqs.has(seq) && !known.has(seq));
    if (!isMeant) continue;
    const left = path.left.get(i) ?? (await leftBy(context, path, i));
    path.left.set(i, left);
    if (left.length === 0) continue;
    for (const seq of about) known.add(seq);
    addAll(found, left);
  }
  return found;
}

/**
 * Returns what undo number `i` has left of the events that it undid in part. Returns an empty list if the undo wrote
 * nothing to the path, or if the rest cannot be computed because contents do not merge or are gone. The change of each
 * event then counts as a whole.
 */
async function leftBy(context: Context, of: OwnPath, i: number): Promise<readonly Rest[]> {
  const { path, rows, firsts } = of;
  const { fromSeq, toSeq } = of.undos[i] ?? { fromSeq: 0, toSeq: 0 };
  const at = rows.findLastIndex(({ seq }) => seq > fromSeq && seq <= toSeq);
  const [row, before] = [rows[at], rows[at - 1]];
  if (row === undefined || before === undefined) return [];
  const seqs = new Set(of.about[i]);
  const earlier = await restsAt(context, of, seqs, i + 1);
  const part = { byPath: new Map([[path, seqs]]), firsts, rests: new Map([[path, earlier]]) };
  const [groups] = await groupsOf(context, part);
  if (groups === undefined) return [];
  const change = { before: before.entry, after: row.entry };
  const rests = await unlessGone(async () => {
    const rest = await withoutGroups(context, groups, change.before);
    if (rest.reason !== undefined) return withoutHunks(context, groups, change);
    return [{ before: rest.entry, after: change.after, made: madeOf(rest) }];
  });
  return (rests ?? []).map((rest) => ({ ...rest, seqs, at: row.seq }));
}

type LeftChange = Pick<Rest, "before" | "after" | "made">;

/**
 * Returns the groups of the work's changes without the hunks that an undo has undone. For this, merges the change of
 * the undo into the states before and after each group. Called if some of the groups do not merge. In this case, no
 * state without the whole work can be computed, so one change cannot express what is left. Returns an empty list if the
 * change of the undo does not merge with one of the states.
 */
async function withoutHunks(
  context: Context,
  { groups, made = [] }: PathGroups,
  { before, after }: Group,
): Promise<readonly LeftChange[]> {
  const change = { groups: [{ before: after, after: before }], made };
  const found: LeftChange[] = [];
  for (const group of groups) {
    const from = await withoutGroups(context, change, group.before);
    const to = await withoutGroups(context, change, group.after);
    if (from.reason !== undefined || to.reason !== undefined) return [];
    found.push({ before: from.entry, after: to.entry, made: [...madeOf(from), ...madeOf(to)] });
  }
  return found;
}

function madeOf({ made }: { readonly made?: Buffer }): readonly Buffer[] {
  return made === undefined ? [] : [made];
}
