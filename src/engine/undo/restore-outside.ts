import type { ChangeShape, RestoreShape } from "../../api/shapes.ts";
import type { Change } from "../../core/values/change.ts";
import type { Omission } from "../../core/records/coverage.ts";
import type { Entry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { type Hash, sha256Pieces } from "../../core/values/hash.ts";
import { outsidePath, shownOutside, type OutsideRecord } from "../../core/records/outside-record.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import { comparePaths, isWithin, type WorkspacePath } from "../../core/values/path.ts";
import { addAll } from "../../util/long-lists.ts";
import type { Owner } from "../../disk/disk.ts";
import { finishAction } from "../actions/finish-action.ts";
import { snapshotAction } from "../actions/snapshot-action.ts";
import { erasedAmong } from "../facts/contents-of-history.ts";
import type { Context } from "../log/context.ts";
import { settable } from "../capture/operate.ts";
import { keptOutside } from "../actions/outside.ts";
import { missingContent, pruningInForce } from "../facts/pruning.ts";
import { changeShape } from "../log/shape.ts";

/** An action whose outside paths are to be brought back. */
export interface OutsideAction {
  readonly id: string;
  readonly summary: string;
  /** Absolute. */
  readonly outside: readonly string[];
}

/**
 * Brings the named paths (absolute: those that the action kept, or beneath such a one) back to what they were before it;
 * what came to be beneath a folder since stays. It is an action of its own: what is there now is kept first, durably, and
 * `rollback` of that action takes this back. Each file is old or new wherever it is cut off, and it can be asked for
 * again. Throws `NOT_FOUND` for a path that the action did not keep, `REFUSED` where what is there now cannot be kept.
 */
export async function restoreOutside(
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
    const free = changesTo(targets, found).filter(({ path }) => !left.has(path));
    return { ...shapeOf(free, [...left.values()].map(notKeptNow)), dry_run: true };
  }
  const request = {
    type: "restore_outside",
    payload: { paths: tops.map(shownOutside) },
    actor: context.caller.actor,
    summary: `restore of ${paths.length === 1 ? paths[0] : `${paths.length} paths`} outside, of ${action.summary}`,
  };
  const own = await snapshotAction(context, request, { reserve: true });
  if (own === null) throw new ChronicleError("REFUSED", "what is there now could not be kept");
  const found = new Map<WorkspacePath, Entry | undefined>();
  for (const top of tops) {
    for (const [path, { entry }] of await keptOutside(context, own.id, top)) found.set(path, entry);
  }
  const { done, skipped } = await replaceAll(context, { own: own.id, targets, found });
  return { ...shapeOf(done, skipped), ...(done.length === 0 ? {} : { rollback_id: own.id }) };
}

interface Replacing {
  /** The action that does it. */
  readonly own: string;
  readonly targets: ReadonlyMap<WorkspacePath, OutsideRecord>;
  readonly found: ReadonlyMap<WorkspacePath, Entry | undefined>;
}

/** Replaces one path after the other, and ends the action, also where that fails. */
async function replaceAll(
  context: Context,
  { own, targets, found }: Replacing,
): Promise<{ readonly done: Change[]; readonly skipped: RestoreShape["skipped"] }> {
  const done: Change[] = [];
  const skipped: RestoreShape["skipped"] = [];
  try {
    const changes = inOrder(changesTo(targets, found));
    for (const change of changes) {
      const reason = await replace(context, change);
      if (reason === undefined) done.push(change);
      else skipped.push({ path: shownOutside(change.path), reason: "changed", detail: reason });
    }
    const changed = new Set(changes.map(({ path }) => path));
    for (const [path, entry] of found) if (!changed.has(path)) await dropLeft(context, path, entry);
  } catch (error) {
    await finishAction(context, own, { outcome: "failed", reason: "the disk refused it" }, { reserve: true });
    throw error;
  }
  await finishAction(context, own, {}, { reserve: true });
  return { done, skipped };
}

/** Removes what an earlier attempt that was cut off has left beside a file that is as wanted. */
async function dropLeft(context: Context, path: WorkspacePath, entry: Entry | undefined): Promise<void> {
  if (entry?.kind !== "file") return;
  await context.outside.replace({ path, before: entry, after: entry, content: undefined, isKept: isKeptIn(context) });
}

function isKeptIn({ blobs }: Context): (hash: Hash) => Promise<boolean> {
  return async (hash) => (await blobs.has([hash])).has(hash);
}

/** Returns what the action kept of the paths. Throws `NOT_FOUND`. */
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

/** Throws `PRUNED` or `ERASED` (`BLOB_MISSING` where nothing was given up) if a content is not there any more: then nothing is done. */
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
      ? "it touched nothing outside of the workspace"
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

/** Reports a path that stays because its present state could not be kept first. */
function notKeptNow({ path, reason }: Omission): RestoreShape["skipped"][number] {
  const detail = `what is there now cannot be kept (${reason.replaceAll("-", " ")})`;
  return { path: shownOutside(path), reason: "changed", detail };
}

/** Returns what is on disk now, without keeping it. */
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
    addAll(
      omitted,
      look.omitted.filter(({ path }) => targets.has(path)),
    );
  }
  return { found, omitted };
}

function changesTo(
  targets: ReadonlyMap<WorkspacePath, OutsideRecord>,
  found: ReadonlyMap<WorkspacePath, Entry | undefined>,
): Change[] {
  return [...targets].flatMap(([path, record]) => changeBetween(path, found.get(path), settable(record.entry)) ?? []);
}

/** Folders before what they hold; what is to go last, children first. */
function inOrder(changes: readonly Change[]): Change[] {
  const sorted = changes.toSorted((a, b) => comparePaths(a.path, b.path));
  const stays = sorted.filter((one) => one.after !== undefined);
  return [...stays, ...sorted.filter((one) => one.after === undefined).reverse()];
}

/** Why a content cannot be had: its file is left as it is. */
const UNREADABLE: ReadonlySet<string> = new Set(["BLOB_CORRUPT", "BLOB_MISSING"]);

async function replace(context: Context, change: Change): Promise<string | undefined> {
  const { path, after } = change;
  const onLostOwner = ({ uid, gid }: Owner): void =>
    context.tell?.(
      `${shownOutside(path)} belonged to user ${uid} and group ${gid}; only root can give it back to them`,
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
