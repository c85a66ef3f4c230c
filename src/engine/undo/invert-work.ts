import { type Change, sameEntry, type Entry } from "../../core/values/entry.ts";
import { sha256, type Hash } from "../../core/values/hash.ts";
import { comparePaths, type WorkspacePath } from "../../core/values/path.ts";
import type { BlobBatch } from "../../storage/blob-store.ts";
import type { Hunk } from "../../core/tree/pick-hunks.ts";
import { oneUnitWith } from "../../core/tree/sqlite-unit.ts";
import { addAll, leastOf } from "../../util/long-lists.ts";
import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import type { Context } from "../log/context.ts";
import { databaseUnits } from "../log/database-units.ts";
import { fitFolders, type FolderPlan, type Target, type Unmerged } from "../capture/fit-folders.ts";
import { pathArgument } from "../log/shape.ts";
import { offRecordAmong } from "../capture/off-record.ts";
import { madeWithout, makeable, neverSet, settable } from "../capture/never-set.ts";
import type { PathGroups } from "../facts/own-work.ts";
import { PathsGone } from "../capture/paths-gone.ts";
import { backTo, SeenAbsent, type SkippedPath, unseenPath } from "../capture/seen-absent.ts";
import { type ChosenParts, rangesAt, refuseUnseen } from "./chosen-parts.ts";
import { hunksAt, onlyLines, type PickedLines, type WholeWay } from "./only-lines.ts";
import { Merger, type WayBack, wayBack } from "./way-back.ts";

export interface InversePlan {
  readonly changes: readonly Change[];
  readonly unmerged: readonly Unmerged[];
  /**
   * Paths that the undo leaves as they are, such as folders with files of others, and paths that need a pruned content.
   */
  readonly skipped: readonly SkippedPath[];
  /** Paths that come back without the mode bits that Chronicle never sets. */
  readonly without: readonly SkippedPath[];
  /** Hashes of merged contents, which no event names yet. */
  readonly contents: readonly Hash[];
  /**
   * Only for an undo of some hunks: the paths at which another part of the work stays, such as other hunks or a change
   * of the mode.
   */
  readonly partly: ReadonlySet<WorkspacePath>;
  /**
   * The contents that merges and picked hunks have made. An undo of parts, and a plan with the single hunks
   * (`Planning.hunks`), have all of them. Any other dry run has only the first ones (see `MOST_COUNTED`). Any other
   * undo has none.
   */
  readonly made: readonly Buffer[];
  /**
   * The hunks of the work, by path. Empty unless `Planning.hunks` is set. Files beyond `MOST_HUNK_CHARS` are left out.
   */
  readonly hunks: readonly PathHunks[];
}

/** The hunks of some work at a path. The hunks say how an undo of the work changes the present content. */
export interface PathHunks {
  readonly path: WorkspacePath;
  readonly present: Entry;
  readonly hunks: readonly Hunk[];
}

export interface Planning {
  /** Changes on disk that are not recorded, because a dry run captures nothing. */
  readonly unrecorded: readonly Change[];
  /** The batch that receives the merged contents. A dry run has no batch. */
  readonly batch?: BlobBatch;
  /**
   * The seq of the last event before the work. An undo of the whole work restores the state after this event. Not set
   * for work without a single beginning, such as the work of an actor.
   */
  readonly back?: number | undefined;
  /** Set if only these parts of the work are undone. */
  readonly chosen?: ChosenParts | undefined;
  /** True to list the single hunks of the work in the plan, too. */
  readonly hunks?: boolean | undefined;
}

/**
 * Returns the inverse of some work, and of no other work. The changes of the work at a path form groups. Within a
 * group, no other work changed the path. The groups are inverted one after the other, from the newest to the oldest. If
 * a path still has the state with which a group ended, the path gets the state before this group. Otherwise, the state
 * before the group and the present state are merged three ways. If a merge has a conflict, the groups are merged twice.
 * The first time, conflicts are decided for the present state, and the second time for the undo. If the two results
 * differ, the path stays in conflict.
 */
export async function invertWork(
  context: Context,
  paths: readonly PathGroups[],
  planning: Planning,
): Promise<InversePlan> {
  const pending = new Map(planning.unrecorded.map((change) => [change.path, change]));
  const targets = new Map<WorkspacePath, Target>();
  const unmerged = new Map<WorkspacePath, Unmerged>();
  const contents: Hash[] = [];
  const gone = new PathsGone(context, { targets, unmerged });
  const absent = new SeenAbsent(context);
  const held = await offRecordAmong(
    context,
    paths.map(({ path }) => path),
  );
  const unseen: SkippedPath[] = [];
  const choice = new HunkChoice(context, planning);
  for (const one of paths) {
    const { path, last, first } = one;
    const seen = pending.get(path);
    const present = seen === undefined ? last?.entry : seen.after;
    targets.set(path, { present, target: present });
    const whole = await gone.unlessGivenUp(path, () => wayBack(new Merger(context, one.made), one, present));
    if (whole === undefined) continue;
    const { kept, wanted, made } = await choice.wayOf({ path, present, ...whole });
    const isGoing = kept.entry === undefined || wanted === undefined;
    const asked = { path, before: present, after: isGoing ? undefined : kept.entry };
    const doubt = held.get(path) ?? (await absent.doubtOf(asked, backTo(first, planning.back)));
    if (doubt !== undefined) {
      unseen.push(unseenPath(path, doubt));
      continue;
    }
    targets.set(path, { present, target: kept.entry });
    for (const content of made) contents.push((await planning.batch?.put(content)) ?? sha256(content));
    if (kept.reason === undefined || wanted === kept.entry) continue;
    unmerged.set(path, { path, reason: kept.reason, base: kept.base, current: kept.entry, wanted });
  }
  await gone.leaveMissing(new Set(contents));
  const plan = { targets, unmerged, pending };
  const skipped = await leaveSplitUnits(context, { paths, plan, skipped: [...gone.paths, ...unseen] });
  const stayed = await fitFolders(context, plan);
  const changes = [...targets].map(([path, { present, target }]) => ({ path, before: present, after: target }));
  changes.sort((a, b) => comparePaths(a.path, b.path));
  return {
    changes: makeable(changes.filter((change) => !sameEntry(change.before, change.after))),
    unmerged: [...unmerged.values()].sort((a, b) => comparePaths(a.path, b.path)),
    skipped: [...skipped, ...neverSet(changes), ...stayed],
    without: madeWithout(changes),
    contents,
    ...{ partly: choice.partly, made: choice.made, hunks: choice.hunks },
  };
}

/**
 * The maximum total size, in characters, of the hunks of one plan. For a file whose hunks do not fit, the plan lists no
 * hunks, so that people can choose the file only as a whole.
 */
const MOST_HUNK_CHARS = 16 * 1024 * 1024;

/** The number of merged contents that a dry run keeps in memory, so that their changed lines can be counted. */
const MOST_COUNTED = 200;

/** Picks the chosen hunks of each path. Collects the fields of the plan that are about hunks. */
class HunkChoice {
  readonly partly = new Set<WorkspacePath>();
  readonly made: Buffer[] = [];
  readonly hunks: PathHunks[] = [];
  readonly #context: Context;
  readonly #planning: Planning;
  #room = MOST_HUNK_CHARS;

  constructor(context: Context, planning: Planning) {
    this.#context = context;
    this.#planning = planning;
  }

  /**
   * Returns the result of undoing only the chosen hunks of a path. Returns `whole` (the result of undoing all its
   * hunks) if no single hunks of the path are chosen.
   */
  async wayOf(whole: WholeWay): Promise<WayBack> {
    const { hunks, chosen, batch } = this.#planning;
    if (hunks === true) await this.#list(whole);
    const picked = chosen === undefined ? undefined : await this.#picked(whole, chosen);
    if (picked?.isPart === true) this.partly.add(whole.path);
    const way = picked ?? whole;
    const isCounted = batch === undefined && this.made.length < MOST_COUNTED;
    if (chosen !== undefined || hunks === true || isCounted) addAll(this.made, way.made);
    return way;
  }

  /**
   * Adds the hunks of a path to the list if there is room for them. Once the room is used up, reads no further file.
   */
  async #list(whole: WholeWay): Promise<void> {
    if (this.#room <= 0) return;
    const { path, present } = whole;
    const { chosen } = this.#planning;
    const hunks = await hunksAt(this.#context, whole, chosen && rangesAt(chosen.parts, path));
    if (hunks === undefined || present === undefined) return;
    this.#room -= hunks.reduce((sum, { patch }) => sum + patch.length, 0);
    if (this.#room >= 0) this.hunks.push({ path, present, hunks });
    await yieldToEventLoop();
  }

  async #picked(whole: WholeWay, { parts, work }: ChosenParts): Promise<PickedLines | undefined> {
    const { path, present } = whole;
    refuseUnseen(parts, path, present);
    const ranges = rangesAt(parts, path);
    return ranges === undefined ? undefined : onlyLines(this.#context, whole, { ranges, work });
  }
}

interface Splitting {
  readonly paths: readonly PathGroups[];
  readonly plan: FolderPlan;
  readonly skipped: readonly SkippedPath[];
}

/**
 * Leaves out each database (a unit of several files), unless all its files would return to their states before the
 * work. The files of a database cannot be merged, and files from different moments do not form a valid database.
 * Returns all skipped paths, including those that this function leaves out.
 */
async function leaveSplitUnits(
  context: Context,
  { paths, plan: { targets, unmerged, pending }, skipped }: Splitting,
): Promise<readonly SkippedPath[]> {
  const firsts = new Map(paths.map(({ path, first }) => [path, first]));
  const changes = [...targets].map(([path, { present, target }]) => ({ path, before: present, after: target }));
  const { units, still } = await databaseUnits(context, changes, [...pending.values()]);
  const ends = new Map([...changes, ...still].map(({ path, after }) => [path, after]));
  const isChanging = (path: WorkspacePath): boolean => {
    const found = targets.get(path);
    return unmerged.has(path) || (found !== undefined && !sameEntry(found.present, found.target));
  };
  const left: SkippedPath[] = [];
  for (const unit of units) {
    const own = unit.filter(isChanging);
    if (own.length === 0) continue;
    const seq = await beginningOf(context, unit, firsts);
    const cause =
      skipped.find(({ path }) => unit.includes(path)) ?? (await editedByOthers(context, { unit, seq, unmerged, ends }));
    if (cause === undefined) continue;
    for (const path of own) {
      const present = targets.get(path)?.present;
      targets.set(path, { present, target: present });
      unmerged.delete(path);
      left.push(path === cause.path ? cause : { ...cause, path, detail: oneUnitWith(cause.path, cause.detail) });
    }
  }
  return [...skipped, ...left];
}

/**
 * Returns the seq right before the commit in which the work first changed a file of the unit. Returns the seq of the
 * head if no such change is recorded.
 */
async function beginningOf(
  context: Context,
  unit: readonly WorkspacePath[],
  firsts: ReadonlyMap<WorkspacePath, PathGroups["first"]>,
): Promise<number> {
  const { seq } = await context.index.head();
  const first = leastOf(unit.flatMap((path) => firsts.get(path)?.seq ?? []));
  if (first > seq) return seq;
  // In the middle of a commit, the recorded states of the unit's files may be from different moments, so the state
  // before the whole commit is used.
  const commit = await context.index.commitFrom(first);
  return Math.min(first, commit?.first ?? first) - 1;
}

/**
 * Returns the first file of a unit that others have changed; `undefined` if all its files return to their states before
 * the work.
 */
async function editedByOthers(
  context: Context,
  given: Pick<FolderPlan, "unmerged"> & {
    readonly unit: readonly WorkspacePath[];
    readonly seq: number;
    readonly ends: ReadonlyMap<WorkspacePath, Entry | undefined>;
  },
): Promise<SkippedPath | undefined> {
  const { unit, seq, unmerged, ends } = given;
  const rows = await context.index.iterationsAt(unit, seq);
  const path = unit.find((one, i) => unmerged.has(one) || !isAsWas(ends.get(one), rows[i]?.entry));
  if (path === undefined) return undefined;
  const how = `\`chronicle restore seq:${seq} ${pathArgument(path)}\` restores the state before this work`;
  return {
    path,
    reason: "changed",
    detail: `others have changed this file since, and databases are not merged: ${how}`,
  };
}

/** True if both states are equal, apart from mode bits that Chronicle never sets. */
function isAsWas(now: Entry | undefined, then: Entry | undefined): boolean {
  return sameEntry(now, then) || sameEntry(now, settable(then));
}
