import { madeWithout, neverSet, settable } from "../capture/never-set.ts";
import type { RestoreShape, ChangeShape } from "../../api/shapes.ts";
import type { RestoreOptions } from "../../api/workspace-api.ts";
import { type WorkspacePath, comparePaths, isWithin } from "../../core/values/path.ts";
import { type Context, isHosted } from "../log/context.ts";
import { orForced, refused } from "../capture/refused.ts";
import { fillFolder, meantBy, withoutGit, withoutPaths } from "../capture/fill-folder.ts";
import { withoutContent, withoutSoundContent } from "../facts/foresee.ts";
import { knownPaths } from "../log/known-paths.ts";
import { resolveMoment, type ResolvedMoment } from "../read/moments.ts";
import { leaveErased, refuseAllErased } from "../capture/leave-erased.ts";
import { secretsAmong } from "../state/protected.ts";
import { provedEntries } from "../state/proved-rows.ts";
import { skippedShape, changeShape } from "../log/shape.ts";
import type { Change, Entry } from "../../core/values/entry.ts";
import type { Omission } from "../../core/records/coverage.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { type Hash, sha256Pieces } from "../../core/values/hash.ts";
import { outsidePath, shownOutside, type OutsideRecord } from "../../core/records/outside-record.ts";
import { changeBetween, composeChanges, invert } from "../../core/tree/plan.ts";
import { addAll } from "../../util/long-lists.ts";
import type { Owner } from "../../disk/disk.ts";
import { finishAction } from "../actions/finish-action.ts";
import { snapshotAction } from "../actions/snapshot-action.ts";
import { erasedAmong } from "../facts/contents-of-history.ts";
import { keptOutside } from "../actions/outside.ts";
import { missingContent, pruningInForce } from "../facts/pruning.ts";
import type { RollbackOptions } from "../../api/action-api.ts";
import { findAction, type LoggedAction } from "../facts/actions.ts";
import { unitWith } from "../log/database-units.ts";
import { finishedNotes } from "./before-change.ts";
import { type BeforeChange, NOTHING_BEFORE } from "../capture/operation-queue.ts";
import { changeFiles, type FilePlan, type Present } from "../capture/change-files.ts";
import { changesBetween, refuseCompacted } from "../read/diff.ts";
import { restoredShape } from "./invert-operation.ts";
import { attributePending } from "../facts/attribution.ts";
import { changesOfAction } from "../facts/changes-within.ts";
import { allOffRecord } from "../capture/off-record.ts";
import { tellStale } from "../facts/stale-states.ts";
import { type BackTo, type SkippedPath, unknownThen, unseenPath } from "../capture/seen-absent.ts";
import { asideNotes } from "../capture/undo-aside.ts";
import { unreadableNow } from "../capture/unreadable-now.ts";
import { optional } from "../../util/optional.ts";

/**
 * Restores files to an earlier moment, which `text` names. First captures the state on disk (not in a dry run), so that
 * the restore can be undone. Throws `USAGE` if the moment is `now`, and the errors of `resolveMoment`.
 */
export async function restore(
  context: Context,
  text: string,
  options: RestoreOptions = {},
  before: BeforeChange = NOTHING_BEFORE,
): Promise<RestoreShape> {
  const moment = await resolveMoment(context, text);
  if (moment.now)
    throw new ChronicleError("USAGE", "`now` is the present state, so there is nothing to restore", {
      hint: "name an earlier moment",
    });
  const finished = finishedNotes(before, options.dryRun === true);
  const how = { ...options, look: { absentRoot: "known" } } as const;
  return changeFiles<RestoreShape>(context, how, async (present) => ({
    ...(await planTo(context, moment, { present, paths: options.paths })),
    kind: "restore",
    summary: `restore to ${moment.label}`,
    // Both states of each planned change are already proved, and the plan takes nothing else from the index.
    isProved: true,
    // The folders above the named paths are restored too.
    ...(options.paths === undefined ? {} : { folders: "whole" }),
    ...optional({ keepMtime: options.keepMtime }),
    report: async (done) => ({ ...(await restoredShape(context, done)), finished, seq: moment.seq }),
  }));
}

interface Wanted {
  readonly present: Present;
  readonly paths: RestoreOptions["paths"];
}

/** Plans the restore of the named paths (by default, of all paths) to the state at the moment. */
async function planTo(
  context: Context,
  moment: ResolvedMoment,
  { present, paths }: Wanted,
): Promise<Pick<FilePlan<RestoreShape>, "wanted" | "isMeant" | "back" | "skipped">> {
  const meant = (await knownPaths(context, paths)) ?? [];
  const isMeant = (path: WorkspacePath): boolean => meant.length === 0 || meant.some((one) => isWithin(path, one));
  const action = await actionBegunAt(context, moment.seq);
  const seqs = [moment.seq];
  // With `force`, a named path gets its last recorded state up to the moment, even if its true state at the moment is
  // not known.
  const forced = new Set(present.force ? await withUnits(context, meant) : []);
  const back = (path: WorkspacePath): BackTo => ({ seqs, action, takesStale: forced.has(path) });
  const asked = { named: meant, isMeant };
  // Paths off the record are reported as skipped, because their files may differ from the recorded states. A path is
  // also skipped if its present state cannot be recorded, or if its state at the moment is not known.
  const offRecord = [...(await allOffRecord(context))].filter(([path]) => isMeant(path));
  const skipped = [
    ...offRecord.map(([path, detail]) => unseenPath(path, detail)),
    ...(await unreadableNow(context, { omitted: present.omitted, seq: moment.seq }, asked)),
    ...(await unknownThen(context, { seq: moment.seq, back }, asked)),
  ];
  return {
    wanted: await changesTo(context, moment.seq, present),
    isMeant,
    back,
    skipped: [...new Map(skipped.toReversed().map((one) => [one.path, one])).values()].reverse(),
  };
}

/** Returns the paths. If a path is a file of a database, the other files of that database are returned too. */
async function withUnits(context: Context, paths: readonly WorkspacePath[]): Promise<WorkspacePath[]> {
  return (await Promise.all(paths.map((path) => unitWith(context, path)))).flat();
}

/** Returns the changes from the present state on disk, recorded or not, to the state after event `seq`. */
async function changesTo(context: Context, seq: number, present: Present): Promise<Change[]> {
  return composeChanges(invert(present.unrecorded), await changesBetween(context, present.seq, seq));
}

/**
 * Returns the id of the action that began at event `seq` or `seq + 1`; `undefined` if there is no such action. The
 * action scanned its paths when it began.
 */
async function actionBegunAt(context: Context, seq: number): Promise<string | undefined> {
  const rows = await context.index.events({ from: seq, to: seq + 1 });
  return rows.find((row) => row.open && row.recordId.startsWith("action:"))?.recordId.slice("action:".length);
}

/**
 * Restores the files of an action to their state before the action, no matter who changed them since. First captures
 * the state on disk (not in a dry run), so that `undo` undoes the rollback. If paths outside of the workspace are named
 * (`outside`), restores only those paths (see `restoreOutside`). Throws `NOT_FOUND` if no action has the id, and
 * `AMBIGUOUS` if a shortened id fits several actions.
 */
export async function rollback(
  context: Context,
  id: string,
  options: RollbackOptions = {},
  before: BeforeChange = NOTHING_BEFORE,
): Promise<RestoreShape> {
  const { dryRun = false, force, outside = [] } = options;
  const action = await findAction(context, id);
  if (outside.length > 0) return restoreOutside(context, action, outside, { dryRun });
  await refuseCompacted(context, action);
  const finished = finishedNotes(before, dryRun);
  const known = await ownPaths(context, action);
  // Captures only the paths of the action, including paths that the rules now leave out.
  const look = { only: [...action.paths, ...known], exact: true };
  return changeFiles<RestoreShape>(context, { dryRun, force, look }, async (present) => {
    // If the action is open, this capture may have found folders that the action has made.
    const own = await ownPaths(context, action, present.unrecorded);
    return {
      kind: "restore",
      summary: `rollback of ${action.summary}`,
      wanted: await changesTo(context, action.fromSeq, present),
      isMeant: (path) => own.has(path) || action.paths.some((one) => isWithin(path, one)),
      back: () => ({ seqs: [action.fromSeq], action: action.id }),
      // If others have put something into a folder of the action since, the folder stays. All other changes are made.
      folders: "part",
      brings: action.id,
      report: async (done) => ({
        ...(await restoredShape(context, done)),
        finished,
        notes: asideNotes(done.aside.applied, done),
      }),
    };
  });
}

/** Returns the paths that the action changed, including the folders that were made for its declared paths. */
async function ownPaths(
  context: Context,
  action: LoggedAction,
  unrecorded: readonly Change[] = [],
): Promise<ReadonlySet<WorkspacePath>> {
  const { seq } = await context.index.head();
  const next = await attributePending(context, unrecorded);
  const { changes } = await changesOfAction(context, action, action.toSeq ?? seq, next);
  return new Set(changes.map((change) => change.path));
}

/**
 * Fills an empty folder, which is not the workspace's own (`options.to`), with the files of a moment. Leaves out git's
 * own state (see `withoutGit`) and files whose contents were erased. If the caller is an agent, also leaves out
 * protected files.
 */
export async function restoreTo(context: Context, text: string, options: RestoreOptions): Promise<RestoreShape> {
  const moment = await resolveMoment(context, text);
  const asked = await knownPaths(context, options.paths);
  const isMeant = meantBy(asked);
  const meant = (await provedEntries(context, moment.seq)).filter(({ path }) => isMeant(path));
  const { entries: all, skipped } = await withoutGit(meant, asked, (path) => isOwn(context, path));
  const whole = all.map((after) => ({ path: after.path, before: undefined, after }));
  const { changes, erased } = await leaveErased(context, whole);
  refuseAllErased(changes, erased);
  const left = new Set(erased.map(({ path }) => path));
  const entries = all.filter(({ path }) => !left.has(path));
  const withheld = context.caller.role === "agent" ? await secretsAmong(context, entries, moment.seq) : [];
  await tellStale(context, moment.seq, isMeant);
  // A dry run reads the contents to check them. A real run checks them while it restores them.
  const find = options.dryRun === true ? withoutSoundContent : withoutContent;
  const missing = await find(
    context,
    withoutPaths(entries, withheld).map((after) => ({ path: after.path, before: undefined, after })),
  );
  return orForced(options, async (force) => {
    if (missing.length > 0 && !force) throw refused(missing);
    const filled = await fillFolder(entries, {
      look: () => context.store.refuseFilled(options.to ?? ""),
      missing,
      withheld,
      target: () => context.store.emptyWorktree(options.to ?? ""),
      contents: (hashes) => context.blobs.readMany(hashes),
      token: context.newId(),
      tell: context.tell,
      options: { ...options, force },
    });
    return { ...filled, skipped: [...skipped, ...erased.map(skippedShape), ...filled.skipped] };
  });
}

/**
 * True if the rules of the folder do not count the path as a part of git's own state. Always false in a hosted
 * workspace, because the rules of a hosted workspace cannot include a path of git.
 */
async function isOwn({ worktree }: Context, path: WorkspacePath): Promise<boolean> {
  return !isHosted(worktree.roots) && (await worktree.explain(path)).rule !== "git";
}

interface OutsideAction {
  readonly id: string;
  readonly summary: string;
  /** The absolute paths outside of the workspace whose states the action kept. */
  readonly outside: readonly string[];
}

/**
 * Restores the named absolute paths to their state before the action. The action must have kept the state of each path,
 * or of a folder above it. Files that were added to a folder since the action stay. The restore is a new action, which
 * first keeps the state on disk, durably. A `rollback` of the new action therefore undoes the restore. After a crash,
 * each file has its old or its new state, and the restore can be repeated. Throws `NOT_FOUND` for a path that the
 * action did not keep, `ERASED`, `PRUNED` or `BLOB_MISSING` if an earlier content is gone, and `REFUSED` if the state
 * on disk cannot be kept.
 */
async function restoreOutside(
  context: Context,
  action: OutsideAction,
  paths: readonly string[],
  options: { readonly dryRun?: boolean } = {},
): Promise<RestoreShape> {
  const tops = paths.map(outsidePath);
  const targets = await keptOf(context, action, tops);
  await refuseGone(context, targets);
  if (options.dryRun === true) {
    const { found, omitted } = await lookOnly(context, tops, targets);
    const left = new Map(omitted.map((one) => [one.path, one]));
    const free = outsideChangesTo(targets, found).filter(({ path }) => !left.has(path));
    const bits = bitsNotSet(targets, found).filter(({ path }) => !left.has(path));
    const skipped = [...[...left.values()].map(notKeptNow), ...bits.map(outsideSkipped)];
    return { ...shapeOf(free, skipped), dry_run: true };
  }
  const request = {
    type: "restore_outside",
    payload: { paths: tops.map(shownOutside) },
    actor: context.caller.actor,
    summary: `restore of ${paths.length === 1 ? paths[0] : `${paths.length} paths`} outside, of ${action.summary}`,
  };
  const own = await snapshotAction(context, request, { reserve: true });
  if (own === null) throw new ChronicleError("REFUSED", "the present state could not be kept");
  const found = new Map<WorkspacePath, Entry | undefined>();
  for (const top of tops) {
    for (const [path, { entry }] of await keptOutside(context, own.id, top)) found.set(path, entry);
  }
  const { done, skipped } = await replaceAll(context, { own: own.id, targets, found });
  return { ...shapeOf(done, skipped), ...(done.length === 0 ? {} : { rollback_id: own.id }) };
}

interface Replacing {
  readonly own: string;
  readonly targets: ReadonlyMap<WorkspacePath, OutsideRecord>;
  readonly found: ReadonlyMap<WorkspacePath, Entry | undefined>;
}

/** Replaces one path after the other, and ends the action. If an error is thrown, the action ends as failed. */
async function replaceAll(
  context: Context,
  { own, targets, found }: Replacing,
): Promise<{ readonly done: Change[]; readonly skipped: RestoreShape["skipped"] }> {
  const done: Change[] = [];
  const skipped: RestoreShape["skipped"] = [];
  try {
    const changes = foldersFirst(outsideChangesTo(targets, found));
    for (const change of changes) {
      const reason = await replace(context, change);
      if (reason === undefined) done.push(change);
      else skipped.push({ path: shownOutside(change.path), reason: "changed", detail: reason });
    }
    const stays = new Set(skipped.map(({ path }) => path));
    const bits = bitsNotSet(targets, found).map(outsideSkipped);
    addAll(
      skipped,
      bits.filter(({ path }) => !stays.has(path)),
    );
    const changed = new Set(changes.map(({ path }) => path));
    for (const [path, entry] of found) if (!changed.has(path)) await dropLeft(context, path, entry);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    await finishAction(context, own, { outcome: "failed", reason: reason.toWellFormed() }, { reserve: true });
    throw error;
  }
  await finishAction(context, own, {}, { reserve: true });
  return { done, skipped };
}

/** Removes temporary files that an interrupted attempt may have left beside a file that needs no change. */
async function dropLeft(context: Context, path: WorkspacePath, entry: Entry | undefined): Promise<void> {
  if (entry?.kind !== "file") return;
  await context.outside.replace({ path, before: entry, after: entry, content: undefined, isKept: isKeptIn(context) });
}

function isKeptIn({ blobs }: Context): (hash: Hash) => Promise<boolean> {
  return async (hash) => (await blobs.has([hash])).has(hash);
}

/**
 * Returns the states that the action kept of these paths, and of everything beneath them. Throws `NOT_FOUND` if the
 * action kept nothing of one of the paths.
 */
async function keptOf(
  context: Context,
  action: OutsideAction,
  tops: readonly WorkspacePath[],
): Promise<Map<WorkspacePath, OutsideRecord>> {
  const targets = new Map<WorkspacePath, OutsideRecord>();
  for (const top of tops) {
    const kept = await keptOutside(context, action.id, top);
    if (kept.size === 0) throw notKept(action, shownOutside(top));
    for (const [path, record] of kept) targets.set(path, record);
  }
  return targets;
}

/**
 * Throws if a content is missing: `ERASED` if the first missing content was erased, `PRUNED` if the history was pruned,
 * and `BLOB_MISSING` otherwise.
 */
async function refuseGone(context: Context, targets: ReadonlyMap<WorkspacePath, OutsideRecord>): Promise<void> {
  const wanted = [...targets].flatMap(([path, { entry }]) =>
    entry?.hash === undefined ? [] : [{ path, hash: entry.hash }],
  );
  const there = await context.blobs.has(wanted.map((one) => one.hash));
  const gone = wanted.filter((one) => !there.has(one.hash));
  const [first] = gone;
  if (first === undefined) return;
  const pruning = await pruningInForce(context);
  const more = gone.length === 1 ? "" : ` and ${gone.length - 1} more`;
  const what = `the earlier content of ${shownOutside(first.path)}${more}`;
  if ((await erasedAmong(context, [first.hash])).has(first.hash))
    throw await missingContent(context, { ...first, what });
  const data = { paths: gone.map((one) => shownOutside(one.path)) };
  if (pruning === undefined)
    throw new ChronicleError("BLOB_MISSING", `${what} is not in the store`, { hint: "run `chronicle verify`", data });
  throw new ChronicleError("PRUNED", `${what} was pruned (last by event ${pruning.seq})`, {
    hint: "`chronicle actions` shows the actions that can still be rolled back",
    data,
  });
}

function notKept(action: OutsideAction, path: string): ChronicleError {
  const hint =
    action.outside.length === 0
      ? "the action touched nothing outside of the workspace"
      : `name one of: ${action.outside.slice(0, 8).join(", ")}`;
  return new ChronicleError(
    "NOT_FOUND",
    `the action ${action.id.slice(0, 8)} kept nothing of ${JSON.stringify(path)}`,
    {
      hint,
      data: { path, outside: action.outside },
    },
  );
}

/** Returns the item of the answer for a path that is skipped because its present state cannot be kept. */
function notKeptNow({ path, reason }: Omission): RestoreShape["skipped"][number] {
  const detail = `its present state cannot be kept (${reason.replaceAll("-", " ")})`;
  return { path: shownOutside(path), reason: "changed", detail };
}

/**
 * Looks at the present states without keeping anything, for a dry run. Returns the states, and the targets that a
 * restore would not change, because their present states cannot be kept.
 */
async function lookOnly(
  context: Context,
  tops: readonly WorkspacePath[],
  targets: ReadonlyMap<WorkspacePath, OutsideRecord>,
): Promise<{ readonly found: Map<WorkspacePath, Entry | undefined>; readonly omitted: readonly Omission[] }> {
  const found = new Map<WorkspacePath, Entry | undefined>();
  const omitted: Omission[] = [];
  for (const top of tops) {
    const deep = [...targets.keys()].some((path) => path !== top && isWithin(path, top));
    const look = await context.outside.look(top, { deep, keep: async (pieces) => sha256Pieces(pieces) });
    for (const { path, entry } of look.found) found.set(path, entry);
    addAll(omitted, look.omitted);
  }
  // Some targets were not read, for instance because they are beyond a limit. If such a path exists, it stays as it is.
  const unread = [...targets.keys()].filter(
    (path) => !found.has(path) && omitted.some((one) => isWithin(path, one.path)),
  );
  for (const path of unread) {
    const look = await context.outside.look(path, { deep: false, keep: async (pieces) => sha256Pieces(pieces) });
    if (look.found.some(({ entry }) => entry !== undefined))
      omitted.push({ path, reason: "over-limit", detail: "more than can be kept" });
  }
  // If a folder is omitted as `over-limit`, its contents were not all read. The folder itself was found, and is
  // restored.
  const isLeft = ({ path, reason }: Omission): boolean =>
    targets.has(path) && !(reason === "over-limit" && found.has(path));
  return { found, omitted: omitted.filter(isLeft) };
}

function outsideChangesTo(
  targets: ReadonlyMap<WorkspacePath, OutsideRecord>,
  found: ReadonlyMap<WorkspacePath, Entry | undefined>,
): Change[] {
  return [...targets].flatMap(([path, record]) => changeBetween(path, found.get(path), settable(record.entry)) ?? []);
}

/**
 * Returns the paths that are not restored in full, because their earlier states have mode bits that Chronicle never
 * sets.
 */
function bitsNotSet(
  targets: ReadonlyMap<WorkspacePath, OutsideRecord>,
  found: ReadonlyMap<WorkspacePath, Entry | undefined>,
): readonly SkippedPath[] {
  const changes = [...targets].map(([path, { entry }]): Change => ({ path, before: found.get(path), after: entry }));
  return [...neverSet(changes), ...madeWithout(changes)];
}

function outsideSkipped({ path, reason, detail }: SkippedPath): RestoreShape["skipped"][number] {
  return { path: shownOutside(path), reason, detail };
}

/**
 * Puts each folder before its contents, and all deletions last. Among the deletions, contents come before their folder.
 */
function foldersFirst(changes: readonly Change[]): Change[] {
  const sorted = changes.toSorted((a, b) => comparePaths(a.path, b.path));
  const stays = sorted.filter((one) => one.after !== undefined);
  return [...stays, ...sorted.filter((one) => one.after === undefined).reverse()];
}

/** The error codes of contents that cannot be read. A file with such a content is skipped. */
const UNREADABLE: ReadonlySet<string> = new Set(["BLOB_CORRUPT", "BLOB_MISSING"]);

/** Makes one change. Returns the reason if the path could not be replaced and was left as it is. */
async function replace(context: Context, change: Change): Promise<string | undefined> {
  const { path, after } = change;
  const onLostOwner = ({ uid, gid }: Owner): void =>
    context.tell?.(
      `${shownOutside(path)} belonged to user ${uid} and group ${gid}; only root can restore this owner and group`,
    );
  try {
    const content = after?.hash === undefined ? undefined : await context.blobs.open(after.hash);
    return await context.outside.replace({ ...change, content, isKept: isKeptIn(context), onLostOwner });
  } catch (error) {
    if (!(error instanceof ChronicleError) || !UNREADABLE.has(error.code)) throw error;
    return `${error.message}; \`chronicle verify\` says more`;
  }
}

function shapeOf(changes: readonly Change[], skipped: RestoreShape["skipped"]): RestoreShape {
  const shown = (change: Change): ChangeShape => ({ ...changeShape(change), path: shownOutside(change.path) });
  return { changes: changes.map(shown), undo_id: null, skipped, conflicts: [], dry_run: false, finished: [] };
}
