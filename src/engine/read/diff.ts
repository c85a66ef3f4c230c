import type { ActionDiffShape, ActionFileChangeShape } from "../../api/action-shapes.ts";
import { changeType, type Change, type Entry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { changeBetween, composeChanges, invert } from "../../core/tree/plan.ts";
import { comparePaths, type WorkspacePath, isWithin } from "../../core/values/path.ts";
import { findAction, type LoggedAction } from "../facts/actions.ts";
import type { Context } from "../log/context.ts";
import { indexedFrom } from "../log/history-start.ts";
import { changesOfAction } from "../facts/changes-within.ts";
import { OffRecordLook } from "../facts/off-record-look.ts";
import { StaleStates } from "../facts/stale-states.ts";
import { shownPath, changeShape, coverageShape } from "../log/shape.ts";
import type { ChangeShape, DiffShape } from "../../api/shapes.ts";
import type { DiffOptions } from "../../api/workspace-api.ts";
import { type Coverage, coverageOf, type Omission, type OmissionReason } from "../../core/records/coverage.ts";
import { compareHashed, type LookOptions, readDisk, type Reading } from "../capture/read-disk.ts";
import { resolveMoment, type ResolvedMoment } from "./moments.ts";
import { knownPaths } from "../log/known-paths.ts";
import { proveChanges } from "../state/proved-rows.ts";
import { lineParts } from "./change-details.ts";
import { Patches } from "./patches.ts";
import { renameParts, renamesAmong } from "./renames.ts";
import type { Rename, Renames } from "../../core/tree/renames.ts";
import { optional } from "../../util/optional.ts";

/**
 * Returns the changes from the state after event `from` to the state after event `to`, in path order. `to` may be
 * earlier than `from`. Throws `IndexDisagrees` if the log does not prove the changes.
 */
export async function changesBetween(context: Context, from: number, to: number): Promise<Change[]> {
  const touched = await context.index.touched(Math.min(from, to), Math.max(from, to));
  const before = await context.index.iterationsAt(touched, from);
  const after = await context.index.iterationsAt(touched, to);
  const changes = touched.flatMap((path, i) => changeBetween(path, before[i]?.entry, after[i]?.entry) ?? []);
  await proveChanges(context, changes, { from, to });
  return changes;
}

/** Returns the changes on disk that are not recorded yet. Records nothing. */
export async function unrecordedChanges(
  context: Context,
  how: Pick<LookOptions, "absentRoot"> = {},
): Promise<Change[]> {
  return (await unrecorded(context, how)).changes;
}

/**
 * Returns the changes on disk that are not recorded as of event `seq`, and this seq. Another process can record during
 * the scan, so the seq can be that of an event after the start of the scan.
 */
async function unrecorded(
  context: Context,
  how: Pick<LookOptions, "absentRoot"> = {},
): Promise<{ readonly changes: Change[]; readonly seq: number; readonly reading: Reading }> {
  const reading = await readDisk(context, { ...how, hashOnly: true });
  const { changes, seq } = await compareHashed(context, reading);
  return { changes: [...changes], seq, reading };
}

interface MomentsDiff {
  readonly shape: DiffShape;
  readonly changes: readonly Change[];
}

/**
 * Returns a difference with the requested details of each change. `patch` adds the patch of the change, or the reason
 * why there is none. `renames` adds the other path of a renamed file, and the numbers of added and removed lines.
 */
export async function withDetails(
  context: Context,
  { shape, changes }: MomentsDiff,
  { patch = false, renames = false }: DiffOptions,
): Promise<DiffShape> {
  const patches = patch ? new Patches(context) : undefined;
  const found = renames ? await renamesAmong(context, changes) : undefined;
  const partOf = await renameParts(found ?? new Map(), patches);
  const linesOf = found === undefined ? () => ({}) : await lineParts(context, { changes, renames: found });
  const detailed: ChangeShape[] = [];
  for (const change of changes)
    detailed.push({ ...changeShape(change), ...(await patches?.of(change)), ...partOf(change), ...linesOf(change) });
  return { ...shape, changes: detailed };
}

/**
 * Hands the changes to `onChange` one by one, each as soon as its details are known, and keeps none. Returns the
 * difference without changes.
 */
export async function handOutChanges(
  context: Context,
  { shape, changes }: MomentsDiff,
  { patch = false, renames = false, onChange }: DiffOptions & Required<Pick<DiffOptions, "onChange">>,
): Promise<DiffShape> {
  const pairs: Renames = renames ? await renamesAmong(context, changes) : new Map();
  const goneTo = new Map([...pairs.values()].map((one) => [one.gone.path, one]));
  const partOf = await renameParts(pairs, undefined);
  // The patches of renames whose other path is still to come. A difference has few patches of renames that are long.
  const texts = new Map<Rename, Promise<string | undefined>>();
  // Each patch has the room of a whole answer, because none is kept.
  const textOf = async (rename: Rename): Promise<string | undefined> => {
    const text = texts.get(rename) ?? new Patches(context).ofRename(rename);
    if (!texts.delete(rename)) texts.set(rename, text);
    return text;
  };
  for (const change of changes) {
    const isGone = goneTo.has(change.path);
    const rename = goneTo.get(change.path) ?? pairs.get(change.path);
    const text = patch && rename !== undefined ? await textOf(rename) : undefined;
    // If the two contents of a renamed file cannot be shown, it stays a deleted and a created file.
    const isOne = rename !== undefined && (!patch || text !== undefined);
    if (isGone && isOne) continue;
    const alone = patch && !isOne ? await new Patches(context).of(change) : {};
    const details = isOne ? { ...partOf(change), ...optional({ patch: text }) } : alone;
    if (!(await onChange({ ...changeShape(change), ...details }))) break;
  }
  return { ...shape, changes: [] };
}

/** Returns the difference between two moments. The moment `now` stands for the state on disk. */
export async function diffMoments(
  context: Context,
  from: string,
  to: string,
  { paths }: DiffOptions = {},
): Promise<MomentsDiff> {
  const a = await resolveMoment(context, from);
  const b = await resolveMoment(context, to);
  const wanted = await knownPaths(context, paths);
  const { changes: all, now, coverage } = await knownOf(context, [a, b], await changesOf(context, [a, b]));
  const changes = within(all, wanted);
  const [fromSeq, toSeq] = [a, b].map((moment) => (moment.now ? now : undefined) ?? moment.seq);
  const looked =
    coverage &&
    coverageOf(
      coverage.omitted.filter(({ path }) => concerns(path, wanted)),
      coverage.unapplied,
    );
  const shape = {
    from: a.label,
    to: b.label,
    from_seq: fromSeq ?? a.seq,
    to_seq: toSeq ?? b.seq,
    changes: changes.map(changeShape),
    ...(looked === undefined ? {} : { coverage: coverageShape(looked) }),
  };
  return { shape, changes };
}

interface Difference {
  readonly changes: Change[];
  /** The seq of the event whose state was compared with the disk. Set only if one of the moments is the disk. */
  readonly now?: number;
  /** The paths that the scan of the disk did not take, and the paths whose state at a moment is not known. */
  readonly coverage?: Coverage;
}

async function changesOf(context: Context, [a, b]: readonly [ResolvedMoment, ResolvedMoment]): Promise<Difference> {
  if (a.now && b.now) return { changes: [] };
  if (!a.now && !b.now) return { changes: await changesBetween(context, a.seq, b.seq) };
  // The disk is scanned first, so that changes that are recorded during the scan are among the recorded changes.
  const { changes, seq: now, reading } = await unrecorded(context);
  const whole = composeChanges(await changesBetween(context, a.now ? b.seq : a.seq, now), changes);
  const coverage = coverageOf(reading.omitted, reading.report.unapplied);
  return { changes: a.now ? invert(whole) : whole, now, coverage };
}

/**
 * Returns the difference without the paths that could not be captured at one of the moments. For such a path, the
 * history has only an earlier state, or none. The coverage of the result names these paths.
 */
async function knownOf(
  context: Context,
  [a, b]: readonly [ResolvedMoment, ResolvedMoment],
  difference: Difference,
): Promise<Difference> {
  if (a.seq === b.seq && a.now === b.now) return difference;
  const unknown = new Map<WorkspacePath, Omission>();
  let { changes } = difference;
  for (const { seq, label, now } of [a, b]) {
    if (now) continue;
    const stale = await StaleStates.at(context, seq);
    const leave = (path: WorkspacePath, reason: OmissionReason): void => {
      unknown.set(path, { path, reason, detail: `it could not be recorded at ${label}` });
    };
    for (const { path, reason } of await stale.all()) leave(path, reason);
    const known: Change[] = [];
    for (const change of changes) {
      const reason = await stale.reasonOf(change.path);
      if (reason === undefined) known.push(change);
      else leave(change.path, reason);
    }
    changes = known;
  }
  if (unknown.size === 0) return difference;
  const { coverage = coverageOf([]) } = difference;
  const onDisk = coverage.omitted.filter(({ path }) => !unknown.has(path));
  const omitted = [...onDisk, ...unknown.values()].sort((one, other) => comparePaths(one.path, other.path));
  return { ...difference, changes, coverage: coverageOf(omitted, coverage.unapplied) };
}

/**
 * True if the path is one of the given paths, contains one, or lies beneath one. Without given paths, true for every
 * path.
 */
function concerns(path: WorkspacePath, paths: readonly WorkspacePath[] | undefined): boolean {
  if (paths === undefined || paths.length === 0) return true;
  return paths.some((one) => isWithin(path, one) || isWithin(one, path));
}

/** Returns the changes at or beneath the given paths. Without paths, returns all changes. */
function within(changes: readonly Change[], paths: readonly WorkspacePath[] | undefined): Change[] {
  if (paths === undefined || paths.length === 0) return [...changes];
  return changes.filter((change) => paths.some((path) => isWithin(change.path, path)));
}

/**
 * Returns how the present states of the paths of an action (see `pathsOf`) differ from their states before the action.
 * Throws `NOT_FOUND` if the id names no action, `AMBIGUOUS` if it names several, and `PRUNED` if the state before the
 * action was compacted away.
 */
export async function diffAction(context: Context, id: string): Promise<ActionDiffShape> {
  const action = await findAction(context, id);
  await refuseCompacted(context, action);
  const changes: ActionFileChangeShape[] = [];
  const paths = await pathsOf(context, action);
  const offRecord = await (await OffRecordLook.of(context, {}))?.leftOutAmong(paths);
  for (const path of paths) {
    const before = (await context.index.iterationAt(path, action.fromSeq))?.entry;
    const present = await presentAt(context, path, offRecord?.has(path) === true);
    const change = changeBetween(path, before, present);
    if (change !== undefined) changes.push(fileChangeShape(change));
  }
  return { from: action.id, to: "", timestamp: new Date(context.now()).toISOString(), changes };
}

/**
 * Returns the present state of a path; `undefined` if the path is absent. There are two exceptions, because even the
 * hash of the present content is private in these cases:
 * - For a path that the rules leave out and that is not recorded, returns `undefined`.
 * - For a path that is off the record, returns the last recorded state.
 */
async function presentAt(context: Context, path: WorkspacePath, isOffRecord: boolean): Promise<Entry | undefined> {
  const recorded = await context.index.iterationAt(path, (await context.index.head()).seq);
  if (isOffRecord) return recorded?.entry;
  const isTold = recorded?.entry !== undefined || (await context.worktree.explain(path)).tracked;
  return isTold ? context.worktree.inspect(path) : undefined;
}

/**
 * Returns the paths whose states were recorded for the action before it began. If the scope of the action is
 * `workspace`, adds the paths that the action changed.
 */
async function pathsOf(context: Context, action: LoggedAction): Promise<WorkspacePath[]> {
  const paths = new Set(action.files.map((file) => file.path));
  const { seq } = await context.index.head();
  const toSeq = action.toSeq ?? seq;
  if (action.scope === "workspace")
    for (const { path } of (await changesOfAction(context, action, toSeq)).changes) paths.add(path);
  return [...paths].sort(comparePaths);
}

/** Throws `PRUNED` if the state before the action was compacted away. */
export async function refuseCompacted(context: Context, action: LoggedAction): Promise<void> {
  const begins = (await indexedFrom(context)) ?? 1;
  if (action.fromSeq >= begins - 1) return;
  throw new ChronicleError("PRUNED", `the state before the action ${action.id} was compacted away`, {
    hint: `the history begins at seq:${begins}, which is the earliest state that can be restored`,
    data: { action: action.id, seq: begins },
  });
}

function fileChangeShape(change: Change): ActionFileChangeShape {
  return {
    path: shownPath(change.path),
    change_type: changeType(change),
    before_hash: change.before?.hash ?? "",
    after_hash: change.after?.hash ?? "",
    size_bytes: change.after?.size ?? 0,
  };
}
