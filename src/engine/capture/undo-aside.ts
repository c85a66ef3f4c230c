import { actionRecordId, decodeAction } from "../../core/records/action-record.ts";
import { type Aside, isKeptAt } from "../../core/records/aside.ts";
import { type Change, type Entry, sameEntry } from "../../core/values/entry.ts";
import type { OmittedChange } from "../../core/records/omitted-change.ts";
import { isWithin, type WorkspacePath } from "../../core/values/path.ts";
import { decodeIntent, decodeSession, type IntentRecord, type SessionRecord } from "../../core/records/records.ts";
import { composeChanges, decodePlan, invert } from "../../core/tree/plan.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { ApplyReport, BlockedPath } from "../../worktree/worktree.ts";
import { addAll, leastOf } from "../../util/long-lists.ts";
import type { Context } from "../log/context.ts";
import { erasuresInForce } from "../facts/erasures-in-force.ts";
import { changedAside, entryOnDisk } from "./keep-aside.ts";
import { isGitState, outermost } from "./git-state.ts";
import { makeable } from "./never-set.ts";
import { allKeepers, keepersWithin } from "../facts/keepers.ts";
import { stillLost } from "../facts/omitted-changes.ts";
import { keepersOf } from "../facts/own-work.ts";
import { privatesGivenUp } from "../facts/pruning.ts";
import { type Owners, ownersIn } from "../facts/owners.ts";
import { doneIntents, type LoggedIntent } from "../log/intents.ts";
import { readEvent } from "../log/read-events.ts";
import type { SkippedPath } from "./seen-absent.ts";
import { shownPath } from "../log/shape.ts";
import { allTransactions } from "../facts/transactions.ts";

/**
 * An undo or redo also changes paths that were kept aside. These changes are not recorded as states of the paths,
 * unless a capture has recorded the paths since then.
 */

/** The changes that an operation made to kept-aside paths, and the kept-aside paths that it left alone. */
export interface AsideReport {
  readonly applied: readonly Change[];
  readonly blocked: readonly SkippedPath[];
}

export const NOTHING_ASIDE: AsideReport = { applied: [], blocked: [] };

type Step = Pick<IntentRecord, "kind" | "target" | "takes" | "passes" | "selection">;

export interface AsideStep {
  readonly changes: readonly Change[];
  readonly blocked: readonly SkippedPath[];
}

/**
 * The changes that some work made to kept-aside paths, and the repositories (`git`) whose own state is among these
 * paths.
 */
interface FoundAside {
  readonly changes: readonly Change[];
  readonly blocked: readonly BlockedPath[];
  readonly git: readonly WorkspacePath[];
}

/**
 * Returns the changes to kept-aside paths that an undo or redo makes. A path is left alone in three cases: the path was
 * edited after the work, other work that is not undone may have changed the path, or the copy of the path was freed or
 * erased.
 */
export async function asideOfStep(context: Context, step: Step): Promise<AsideStep> {
  if (step.kind !== "undo" && step.kind !== "redo") return { changes: [], blocked: [] };
  const works = await readWorks(context, await worksOf(context, step));
  if (step.kind === "redo") return asideOfRedo(context, step, works);
  const owners = await ownersIn(context);
  const rivals = await rivalsIn(context, { step, works, owners });
  const found: FoundAside[] = [];
  for (const [id, work] of works) {
    const around = [...owners.around([id])].flatMap((one) => (one === id ? [] : (works.get(one) ?? [])));
    const isOwn = ({ path }: Pick<Change, "path">): boolean => !around.some((one) => answersFor(one, path));
    const { changes, blocked, git } = await asideOfWork(context, work);
    found.push({ changes: changes.filter(isOwn), blocked: blocked.filter(isOwn), git });
  }
  // Several of these works may have changed the same path, one after another.
  const changes = found.reduce<readonly Change[]>((all, one) => composeChanges(all, one.changes), []);
  const git = outermost(found.flatMap((one) => one.git));
  const isOthers = ({ path }: Pick<Change, "path">): boolean => rivals.some((one) => isWithin(path, one.path));
  const [others, own] = [changes.filter(isOthers), changes.filter((one) => !isOthers(one))];
  const fit = wholeRepositories(await fitting(context, invert(own), git), git);
  const blocked = found.flatMap((one) => one.blocked).filter((one) => !isOthers(one));
  return {
    changes: fit.changes,
    blocked: [...(await stillOthers(context, others, rivals)), ...blocked, ...fit.blocked],
  };
}

interface RivalPath {
  readonly path: WorkspacePath;
  /** The seq before the earliest work that may have changed the path. */
  readonly fromSeq: number;
}

interface UndoneWorks {
  readonly step: Step;
  readonly works: ReadonlyMap<string, AsideWork>;
  readonly owners: Owners;
}

/**
 * Returns the paths that may have been changed by work that this undo does not undo. Leaves out a path if this undo
 * undoes all work that may have changed the path (its candidates). Returns no path for an undo of everything since a
 * moment.
 */
async function rivalsIn(context: Context, { step, works, owners }: UndoneWorks): Promise<RivalPath[]> {
  const { target, takes = [], passes = [], selection = "" } = step;
  const told = [...works.values()].flatMap(({ omittedChanges }) => omittedChanges);
  if (selection.startsWith("since ") || !told.some((one) => one.candidates !== undefined)) return [];
  const undone = new Set([...works.keys(), ...takes, ...passes, ...(target === undefined ? [] : [target])]);
  const isUndone = (id: string): boolean => [...owners.around([id])].some((one) => undone.has(one));
  const begun = new Map((await allKeepers(context)).map(({ id, fromSeq }) => [id, fromSeq]));
  return told.flatMap(({ path, candidates = [] }) =>
    candidates.every(isUndone) ? [] : [{ path, fromSeq: leastOf(candidates.flatMap((id) => begun.get(id) ?? [])) }],
  );
}

/** Returns the rival paths that the undo would have changed. */
async function stillOthers(
  context: Context,
  changes: readonly Change[],
  rivals: readonly RivalPath[],
): Promise<SkippedPath[]> {
  const found = new Map<WorkspacePath, SkippedPath>();
  for (const { path, before } of changes) {
    const now = await entryOnDisk(context, path);
    const rival = rivals.find((one) => isWithin(path, one.path));
    if (rival === undefined || (now !== "other" && sameEntry(now, before))) continue;
    const back = `\`chronicle undo --since seq:${rival.fromSeq}\` undoes everything since the beginning of that work`;
    const detail = `other work was going on at the same time, and may have changed this path; ${back}`;
    found.set(rival.path, { path: rival.path, reason: "ambiguous", detail });
  }
  return [...found.values()];
}

/**
 * Returns the changes that a redo makes to kept-aside paths. They invert the changes of the undos that the redo
 * reverses (see `undosOf`).
 */
async function asideOfRedo(
  context: Context,
  { target }: Step,
  works: ReadonlyMap<string, AsideWork>,
): Promise<AsideStep> {
  const told = [...works.values()].flatMap(({ omittedChanges }) => omittedChanges);
  const git = outermost(told.filter(isGitState).map(({ path }) => path));
  let changes: readonly Change[] = [];
  const blocked: BlockedPath[] = [];
  for (const { seq, intent } of await undosOf(context, target)) {
    const { aside } = intent;
    if (aside === undefined) continue;
    const erased = await erasedAside(context, aside.plan);
    const made = await readAside(context, aside.plan);
    changes = composeChanges(changes, made);
    addAll(blocked, erased);
    if (made.length + erased.length === 0) addAll(blocked, freedAside(await whyFreed(context, aside, seq), told));
  }
  const fit = wholeRepositories(await fitting(context, invert(changes), git), git);
  return { changes: fit.changes, blocked: [...blocked, ...fit.blocked] };
}

/**
 * Returns the undos that the redo of `target` reverses. If `target` is an undo by selection, returns that undo. If
 * `target` is an operation, returns the last series of undos of the operation that no redo of the operation interrupts.
 */
export async function undosOf(context: Context, target: string | undefined): Promise<readonly LoggedIntent[]> {
  const done = await doneIntents(context);
  const own = done.find(({ id }) => id === target);
  if (own?.intent.selection !== undefined) return [own];
  const steps = done.filter(({ intent }) => intent.target === target && intent.selection === undefined);
  const upTo = steps.findLastIndex(({ intent }) => intent.kind === "undo");
  const others = steps.slice(0, upTo + 1).findLastIndex(({ intent }) => intent.kind !== "undo");
  return steps.slice(others + 1, upTo + 1);
}

function freedAside(detail: string, told: readonly OmittedChange[]): BlockedPath[] {
  return told.flatMap(({ path, kept }) => (kept ? [{ path, reason: "content-missing", detail }] : []));
}

/** Returns the reason why a kept-aside copy was freed. `seq`: the last event of the record that named the copy. */
async function whyFreed(context: Context, { plan, until }: Aside, seq: number): Promise<string> {
  const { now, store } = context;
  if (store.leftOut().has(plan)) return "it was kept aside, and was left out when this history was exported";
  const givenUp = await privatesGivenUp(context, seq);
  if (givenUp !== undefined) return `it was kept aside, and was ${givenUp}`;
  // Apart from these cases, a copy is freed before its time only if `keepAside` is switched off.
  return isKeptAt({ plan, until }, now())
    ? "it was kept aside, and was freed after `keepAside` was switched off"
    : `it was kept aside until ${until}, and was freed`;
}

/**
 * Returns the ids of the runs and actions whose kept-aside paths the step changes. For the redo of an undo by
 * selection, these are the runs and actions that the undo has undone. Work that an undo undoes only in part (`passes`)
 * is included, because its conflicts concern recorded files only, and not kept-aside paths.
 */
async function worksOf(context: Context, { target, takes = [], passes = [] }: Step): Promise<ReadonlySet<string>> {
  if (target === undefined) return withInner(context, [...takes, ...passes]);
  const row = await context.index.record(`intent:${target}`);
  if (row === undefined) return withInner(context, [target]);
  const about = decodeIntent((await readEvent(context, row)).record);
  if (about.brings !== undefined) return new Set([target]);
  return withInner(context, [...(about.takes ?? []), ...(about.passes ?? [])]);
}

/**
 * Returns these ids without the ids of transactions. Adds the ids of those runs and actions within the given work that
 * kept something aside or changed the state of git.
 */
async function withInner(context: Context, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const transactions = new Set((await allTransactions(context)).map(({ id }) => id));
  const inner = keepersOf(await keepersWithin(context, new Set(ids)));
  return new Set([...ids.filter((id) => !transactions.has(id)), ...inner.map(({ id }) => id)]);
}

interface AsideWork extends Pick<SessionRecord, "omittedChanges"> {
  /** The seq of the last event of the record of the work. */
  readonly seq: number;
  readonly aside?: Aside;
  readonly state?: string;
  /** True if the run or action has compared all omitted paths with their states at its beginning. */
  readonly comparesAll: boolean;
}

/**
 * Returns the facts about the kept-aside paths of a run or action; `undefined` for an unknown id. For the id of a
 * rollback, the facts are the changes that the rollback made to paths that were kept aside for the rolled-back action.
 */
async function workOf(context: Context, id: string): Promise<AsideWork | undefined> {
  const run = await context.index.record(`session:${id}`);
  if (run !== undefined) {
    const session = decodeSession((await readEvent(context, run)).record);
    // A run that was killed has compared no path. The process that closes the record of such a run compares only the
    // kept-aside paths.
    return { ...session, seq: run.seq, comparesAll: session.kind !== "agent" && session.state === "ended" };
  }
  const rollback = await context.index.record(`intent:${id}`);
  if (rollback !== undefined) {
    const { aside, brings } = decodeIntent((await readEvent(context, rollback)).record);
    if (aside === undefined || brings === undefined) return undefined;
    const omittedChanges = (await workOf(context, brings))?.omittedChanges ?? [];
    return { seq: rollback.seq, aside, omittedChanges, comparesAll: false };
  }
  const row = await context.index.record(actionRecordId(id));
  if (row === undefined) return undefined;
  const action = decodeAction((await readEvent(context, row)).record);
  return { ...action, seq: row.seq, comparesAll: action.scope === "workspace" };
}

async function readWorks(context: Context, ids: Iterable<string>): Promise<ReadonlyMap<string, AsideWork>> {
  const works = new Map<string, AsideWork>();
  for (const id of ids) {
    const work = await workOf(context, id);
    if (work !== undefined) works.set(id, work);
  }
  return works;
}

/**
 * True if the record of a run or action decides what an undo does to a path. Copies that work within the run or action
 * has kept are then ignored.
 *
 * - If the record lists the path as kept or created, the record decides.
 * - If the record lists the path in another way, it has no copy of the path. Only work within the run or action may
 *   have one, so the record does not decide.
 * - If the record does not list the path, it decides if all paths were compared: the path did not change.
 */
function answersFor({ omittedChanges, comparesAll }: AsideWork, path: WorkspacePath): boolean {
  const told = omittedChanges.find((one) => isWithin(path, one.path));
  return told === undefined ? comparesAll : told.kept || told.type === "created";
}

async function asideOfWork(context: Context, { aside, omittedChanges, state, seq }: AsideWork): Promise<FoundAside> {
  const git = omittedChanges.filter(isGitState).map(({ path }) => path);
  if (aside === undefined) return { changes: [], blocked: [], git };
  // The plan of a run that is not closed does not yet say how its paths changed.
  const isUnclosed = state === "running";
  const changes = isUnclosed ? await changedAside(context, aside) : await readAside(context, aside.plan);
  const erased = await erasedAside(context, aside.plan);
  if (changes.length + erased.length > 0) return { changes, blocked: erased, git };
  return { changes, blocked: freedAside(await whyFreed(context, aside, seq), omittedChanges), git };
}

/**
 * Returns the changes in a plan; none if the plan was freed. Leaves out paths that did not change. The plan of an open
 * action has such paths.
 */
async function readAside(context: Context, plan: Hash): Promise<readonly Change[]> {
  const bytes = await context.blobs.get(plan);
  const left = bytes === undefined ? [] : (await erasuresInForce(context)).leftAside(plan, decodePlan(bytes));
  return left.filter(({ before, after }) => !sameEntry(before, after));
}

async function erasedAside(context: Context, plan: Hash): Promise<BlockedPath[]> {
  const bytes = await context.blobs.get(plan);
  const erasures = await erasuresInForce(context);
  return (bytes === undefined ? [] : decodePlan(bytes)).flatMap(({ path }) => {
    const by = erasures.ofAside(plan, path);
    const detail = `its kept-aside copy was erased by event ${by?.seq ?? 0}`;
    return by === undefined ? [] : [{ path, reason: "content-missing", detail } as const];
  });
}

/**
 * Returns the changes to kept-aside paths that an intent names. These changes are carried out together with the
 * intent's own changes.
 */
export async function asideOfIntent(
  context: Context,
  { aside }: Pick<IntentRecord, "aside">,
): Promise<readonly Change[]> {
  return aside === undefined ? [] : readAside(context, aside.plan);
}

interface SplitAside {
  /** The report without kept-aside paths, except that its `applied` includes the paths of `recorded`. */
  readonly report: ApplyReport;
  readonly aside: AsideReport;
  /**
   * The changes to kept-aside paths that a capture has recorded since, because the rules no longer leave them out. Such
   * changes must be recorded like the operation's own changes.
   */
  readonly recorded: readonly Change[];
}

/**
 * Separates the kept-aside paths from the report of an operation. Makes the worktree forget paths that were put back,
 * so that the rules leave these paths out as before.
 */
export async function splitAside(
  context: Context,
  report: ApplyReport,
  beside: readonly Change[],
): Promise<SplitAside> {
  if (beside.length === 0) return { report, aside: NOTHING_ASIDE, recorded: [] };
  const paths = beside.map(({ path }) => path);
  const rows = await context.index.iterationsAt(paths, (await context.index.head()).seq);
  const recorded = beside.filter((_, i) => rows[i]?.entry !== undefined);
  const unrecorded = new Set(paths);
  for (const { path } of recorded) unrecorded.delete(path);
  const done = new Set(report.applied);
  const applied = beside.filter(({ path }) => done.has(path));
  const all = new Set(paths);
  context.worktree.forget(applied.map(({ path }) => path).filter((path) => unrecorded.has(path)));
  return {
    report: {
      ...report,
      applied: report.applied.filter((path) => !unrecorded.has(path)),
      blocked: report.blocked.filter(({ path }) => !all.has(path)),
    },
    aside: { applied, blocked: report.blocked.filter(({ path }) => all.has(path)) },
    recorded,
  };
}

/**
 * Leaves out all changes to a repository's own state if one of them is blocked, because a mixture of two states would
 * be a broken repository. `tops`: the outermost paths of such states.
 */
function wholeRepositories({ changes, blocked }: FittingChanges, tops: readonly WorkspacePath[]): FittingChanges {
  const topOf = ({ path }: { readonly path: WorkspacePath }) => tops.find((top) => isWithin(path, top));
  const broken = new Set(blocked.map(topOf));
  broken.delete(undefined);
  if (broken.size === 0) return { changes, blocked };
  const isLeft = (one: { readonly path: WorkspacePath }): boolean => broken.has(topOf(one));
  const left = [...broken].flatMap((path) => path ?? []);
  const detail = "a part of it was changed since: git's own state comes back as a whole or not at all";
  return {
    changes: changes.filter((change) => !isLeft(change)),
    blocked: [
      ...blocked.filter((one) => !isLeft(one)),
      ...left.map((path) => ({ path, reason: "changed", detail }) as const),
    ],
  };
}

type FittingChanges = Pick<FoundAside, "changes" | "blocked">;

type Why = Pick<BlockedPath, "reason" | "detail">;

const MOVE_AWAY = "what was kept aside comes back once that is moved away";

/**
 * Returns the reason why the state on disk differs from the `before` state of a change; `undefined` if both are equal.
 */
function whyChanged({ before }: Change, now: Entry | undefined | "other"): Why | undefined {
  if (now !== "other" && sameEntry(now, before)) return undefined;
  const isInPlace = now === "other" || now?.kind === "dir" || before === undefined;
  return {
    reason: "changed",
    detail: isInPlace ? `something else is in its place: ${MOVE_AWAY}` : "it was edited since",
  };
}

/**
 * Returns the reason why a folder at the path of a file cannot be removed; `undefined` if it can be removed. A folder
 * can be removed only if the changes remove everything in it.
 */
async function heldInFolder(
  context: Context,
  { path, before, after }: Change,
  all: readonly Change[],
): Promise<Why | undefined> {
  if (before?.kind !== "dir" || after === undefined || after.kind === "dir") return undefined;
  const within = all.filter((one) => isWithin(one.path, path));
  const { blocked } = await context.worktree.check({ changes: within, onBlocked: "skip" });
  const one = blocked.find((left) => left.path === path);
  return one === undefined
    ? undefined
    : { reason: one.reason, detail: `a folder is in its place, and ${one.detail}: ${MOVE_AWAY}` };
}

/**
 * Returns the changes that can be made on disk. Also returns the paths at which something is in the way, or whose copy
 * was freed (`blocked`). Paths that already have their `after` state are in neither list.
 */
async function fitting(
  context: Context,
  changes: readonly Change[],
  git: readonly WorkspacePath[],
): Promise<FittingChanges> {
  const there = await context.blobs.has(changes.flatMap(({ after }) => after?.hash ?? []));
  const fit: Change[] = [];
  const blocked: BlockedPath[] = [];
  for (const one of makeable(changes)) {
    const now = await entryOnDisk(context, one.path);
    if (now !== "other" && sameEntry(now, one.after)) continue;
    // At an absent path, nothing is in the way, unless the path is a part of a repository's own state. This state is
    // restored only as a whole, so a single path that is unexpectedly absent blocks all changes of the state.
    const isFree = now === undefined && !git.some((top) => isWithin(one.path, top));
    const change = isFree ? { ...one, before: undefined } : one;
    const why = whyChanged(change, now) ?? (await heldInFolder(context, change, changes));
    const { path, after } = change;
    if (why !== undefined) blocked.push({ path, ...why });
    else if (after?.hash !== undefined && !there.has(after.hash))
      blocked.push({ path, reason: "content-missing", detail: "its kept-aside copy was freed" });
    else fit.push(change);
  }
  return { changes: fit, blocked };
}

/**
 * Returns notes on the paths that the undo of this work leaves alone: destroyed paths without a copy, and paths that
 * got an erased content.
 */
export async function lostNotes(context: Context, ids: Iterable<string>): Promise<string[]> {
  const [lost, erased]: [WorkspacePath[], WorkspacePath[]] = [[], []];
  for (const id of ids) {
    const { omittedChanges = [] } = (await workOf(context, id)) ?? {};
    const isKept = await keptWithin(context, id, omittedChanges);
    const gone = (await stillLost(context, omittedChanges)).map(({ path }) => path);
    addAll(
      lost,
      gone.filter((path) => !isKept(path)),
    );
    addAll(
      erased,
      omittedChanges.filter(isErased).map(({ path }) => path),
    );
  }
  return [
    ...pathsNote(
      "these paths were not recorded before they were removed or overwritten, so they cannot be brought back",
      lost,
    ),
    ...pathsNote("these paths were given a content that was erased from the history, so they stay as they are", erased),
  ];
}

/**
 * Returns a function that returns true for a path if other work within this work has kept a copy of the path. If this
 * work has lost no path, the function always returns false, because nobody needs the answer.
 */
async function keptWithin(
  context: Context,
  id: string,
  changes: readonly OmittedChange[],
): Promise<(path: WorkspacePath) => boolean> {
  if (!changes.some(({ lost }) => lost)) return () => false;
  const inner = keepersOf(await keepersWithin(context, new Set([id]))).filter((one) => one.id !== id);
  const kept = inner.flatMap(({ omittedChanges }) => omittedChanges.filter((one) => one.kept).map(({ path }) => path));
  return (path) => kept.includes(path);
}

function isErased({ reason, lost }: OmittedChange): boolean {
  return reason === "erased" && !lost;
}

const MOST_PATHS = 20;

/** Returns notes on the kept-aside paths that were, or would be, put back or removed. */
export function asideNotes(changes: readonly Change[], { dryRun }: { readonly dryRun: boolean }): string[] {
  const isBack = ({ after }: Change): boolean => after !== undefined;
  const [back, gone] = [changes.filter(isBack), changes.filter((change) => !isBack(change))];
  const verb = dryRun ? "would be" : "were";
  return [
    ...noteOf(`kept-aside copies of paths that the rules leave out ${verb} put back`, back),
    ...noteOf(`new paths that the rules leave out ${verb} removed`, gone),
  ];
}

function noteOf(what: string, changes: readonly Change[]): string[] {
  return pathsNote(
    what,
    changes.map(({ path }) => path),
  );
}

function pathsNote(what: string, all: readonly WorkspacePath[]): string[] {
  if (all.length === 0) return [];
  const paths = outermost(all);
  const shown = paths.slice(0, MOST_PATHS).map(shownPath);
  const more = paths.length > MOST_PATHS ? ` and ${paths.length - MOST_PATHS} more` : "";
  return [`${what}: ${shown.join(", ")}${more}`];
}
