import { ASIDE_MS, type Aside } from "../../core/records/aside.ts";
import { type Change, sameEntry, SYMLINK_MODE, type Entry, entryTime, timeNsOf } from "../../core/values/entry.ts";
import type { Omission } from "../../core/records/coverage.ts";
import { sha256 } from "../../core/values/hash.ts";
import type { OmittedChange, ListedOmission, OmittedStat } from "../../core/records/omitted-change.ts";
import { encodePlan, decodePlan } from "../../core/tree/plan.ts";
import { comparePaths, isWithin, type WorkspacePath } from "../../core/values/path.ts";
import { withBatch, type BlobBatch } from "../../storage/blob-store.ts";
import { addAll } from "../../util/long-lists.ts";
import type { Session } from "../facts/actions.ts";
import { erasedContents } from "../facts/contents-of-history.ts";
import { erasuresInForce } from "../facts/erasures-in-force.ts";
import { isNoRoomOrTrouble } from "../facts/recorded-coverage.ts";
import { workspaceRecord } from "../log/own-record.ts";
import type { Context } from "../log/context.ts";
import { withCandidates } from "./aside-candidates.ts";
import { changesOfTree, keepTree } from "./kept-trees.ts";
import { changesOfOmitted, isExcludedByPerson, type OmittedPaths } from "../facts/omitted-changes.ts";
import { privateRoom } from "../log/private-room.ts";
import type { QuotaOptions } from "../log/quota.ts";
import { ChronicleError } from "../../core/values/errors.ts";

/**
 * Small files that git ignores are kept aside before a run, so that undo can restore them. No capture takes these
 * files, and there may be no other copy. Files in ignored folders are not kept, because tools can make them again. Some
 * actions name or sweep away ignored paths or git's own state. Before such an action, these paths are kept aside with
 * everything beneath them. Paths that a person excluded are never stored.
 */

/**
 * The maximum size, in bytes, of a file that is kept aside. Files in kept trees may be larger. The present state of a
 * path whose earlier state is kept aside may be larger, too (see `changesAside`).
 */
const MOST_FILE_BYTES = 1024 * 1024;
/**
 * The maximum total size, in bytes, of the files that are kept aside for one run or action. Files in kept trees do not
 * count. The limit applies to the earlier states and to the present states separately.
 */
const MOST_BYTES = 64 * 1024 * 1024;

interface Kept {
  readonly entries: ReadonlyMap<WorkspacePath, Entry>;
  readonly aside: Aside | undefined;
}

/** The omitted paths, the entries of those that are kept aside, and the plan that names these entries. */
export interface KeptAside extends Kept {
  readonly omitted: OmittedPaths;
}

/** The paths that are kept aside before a run, with the trees among them. */
interface KeptForRun extends KeptAside {
  /** The trees (paths with everything beneath them) that are kept. */
  readonly trees: readonly Omission[];
  /** The trees that cannot be kept. */
  readonly exposed: readonly Omission[];
}

/**
 * Keeps aside the small files that git ignores, and the given trees with everything in them. Keeps nothing if the
 * workspace keeps no files aside, or while work off the record is running. The contents are durable when the promise
 * resolves. The caller must hold a lease of the blob store until the record that names the plan is durable. The lease
 * protects new contents from the collector.
 */
export async function keepAside(
  context: Context,
  omitted: OmittedPaths,
  trees: readonly Omission[] = [],
): Promise<KeptForRun> {
  const nothing = { omitted, entries: new Map<WorkspacePath, Entry>(), aside: undefined, trees: [], exposed: [] };
  let room = privateRoom(context);
  const wanted = (await mayKeep(context)) ? wantedOf(omitted, Math.min(room, MOST_BYTES)) : undefined;
  if (wanted === undefined || wanted.length + trees.length === 0) return nothing;
  return withBatch(context.blobs, async (batch) => {
    const entries = new Map<WorkspacePath, Entry>();
    for (const { path, stat } of wanted) {
      const entry = await keep(context, batch, { path, stat });
      if (entry !== undefined) entries.set(path, entry);
    }
    const exposed: Omission[] = [];
    room -= sizeOf(entries.values());
    for (const { path: top } of trees) {
      const kept = await keepTree(context, batch, { top, room }).catch((error: unknown): Omission => {
        if (!isNoRoomOrTrouble(error)) throw error;
        return { path: top, reason: "unreadable", detail: textOf(error) };
      });
      if (!("entries" in kept)) exposed.push(kept);
      else {
        for (const [path, entry] of kept.entries) entries.set(path, entry);
        room -= sizeOf(kept.entries.values());
      }
    }
    const whole = trees.filter(({ path }) => entries.has(path));
    return { omitted, entries, aside: await asideBefore(context, batch, entries), trees: whole, exposed };
  });
}

function textOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).toWellFormed();
}

/** `exposed`: the trees that cannot be kept. `excluded`: the paths in kept trees that a person excluded. */
interface KeptTrees extends Kept {
  readonly exposed: readonly Omission[];
  readonly excluded: readonly Omission[];
}

/**
 * Keeps aside the paths in `tops`, with everything beneath them. No path in `tops` may lie beneath another one.
 * `keepAside` says in which cases nothing is kept, when the contents are durable, and how long the caller must hold a
 * lease.
 */
export async function keepTrees(
  context: Context,
  tops: readonly WorkspacePath[],
  quota: QuotaOptions,
): Promise<KeptTrees> {
  const entries = new Map<WorkspacePath, Entry>();
  const exposed: Omission[] = [];
  const excluded: Omission[] = [];
  if (tops.length === 0 || !(await mayKeep(context))) return { entries, aside: undefined, exposed, excluded };
  return withBatch(context.blobs, async (batch) => {
    let room = privateRoom(context);
    for (const top of tops) {
      const kept = await keepTree(context, batch, { top, quota, room });
      if (!("entries" in kept)) {
        exposed.push(kept);
        continue;
      }
      for (const [path, entry] of kept.entries) entries.set(path, entry);
      room -= sizeOf(kept.entries.values());
      addAll(excluded, kept.excluded);
    }
    return { entries, aside: await asideBefore(context, batch, entries), exposed, excluded };
  });
}

interface EndedWork extends Pick<KeptAside, "omitted" | "entries"> {
  readonly id: string;
  /** Changes to add to the plan for paths at which no other change is found. */
  readonly also?: readonly Change[];
}

/**
 * Returns the changes of a run or action to omitted paths, and the plan with the kept-aside states of these paths.
 * `hidden`: changes that the caller has found, such as new paths that are left out only by rules which also appeared
 * during the work. `trees`: the trees that were kept when the work began, and those that have appeared since.
 *
 * Also keeps aside the present states of changed kept-aside paths, because an undo overwrites them. Small new files in
 * `hidden` are kept aside, because an undo removes them.
 */
export async function changesAside(
  context: Context,
  { id, omitted, entries, also = [] }: EndedWork,
  hidden: readonly OmittedChange[],
  trees: readonly Omission[] = [],
): Promise<{ readonly changes: readonly OmittedChange[]; readonly aside: Aside | undefined }> {
  const all = [...(await changesOfOmitted(context, omitted)), ...hidden];
  const isKept = hidden.length + trees.length > 0 && (await workspaceRecord(context)).keepsAside !== false;
  if (!isKept && trees.length + also.length === 0 && !all.some(({ path }) => entries.has(path)))
    return { changes: all, aside: undefined };
  return withBatch(context.blobs, async (batch) => {
    const plan: Change[] = [];
    const told: OmittedChange[] = [];
    // The earlier states already take up a part of the budget.
    const left = Math.max(0, privateRoom(context) - sizeOf(entries.values()));
    let room = Math.min(MOST_BYTES, left);
    let treeRoom = left;
    for (const change of all) {
      const { path, type } = change;
      const before = entries.get(path);
      const isMeant = before !== undefined || (type === "created" && isKept && !isExcludedByPerson(change));
      // The present state of a kept-aside path is kept even if it has more than `MOST_FILE_BYTES`, because an undo
      // overwrites it.
      const most = before === undefined ? Math.min(room, MOST_FILE_BYTES) : room;
      const found = isMeant ? await entryNow(context, batch, { path, most }) : "other";
      // If the present state cannot be kept, the plan says that the path is gone. The plan then still names the earlier
      // state.
      const after = found === "other" && before !== undefined ? undefined : found;
      if (after === "other" || (before === undefined && (after === undefined || after.kind === "dir")))
        told.push(change);
      else if (!sameEntry(before, after)) {
        room -= after?.size ?? 0;
        plan.push({ path, before, after });
        told.push({ ...change, kept: true, lost: false });
      }
    }
    for (const omission of trees) {
      if (!isKept && ![...entries.keys()].some((path) => isWithin(path, omission.path))) {
        told.push({ ...omission, type: "created", kept: false, lost: false });
        continue;
      }
      const found = await changesOfTree(context, batch, { omission, before: entries, room: treeRoom });
      treeRoom -= sizeOf(found.plan.map(({ after }) => after));
      addAll(plan, found.plan);
      addAll(told, found.told);
    }
    const found = new Set(plan.map(({ path }) => path));
    addAll(
      plan,
      also.filter(({ path }) => !found.has(path)),
    );
    told.sort((a, b) => comparePaths(a.path, b.path));
    const changes = await withCandidates(context, id, { changes: told, plan });
    return { changes, aside: await asideOf(context, batch, plan) };
  });
}

/**
 * Returns the entries that were kept aside when a session began and whose contents are still available. Leaves out
 * entries whose contents were erased since then, or were freed after seven days. The caller must hold a lease of the
 * blob store.
 */
export async function stillKept(
  context: Context,
  entries: ReadonlyMap<WorkspacePath, Entry>,
  aside: Aside | undefined,
): Promise<ReadonlyMap<WorkspacePath, Entry>> {
  if (aside === undefined || entries.size === 0) return entries;
  const erasures = await erasuresInForce(context);
  const erased = await erasedContents(context);
  const there = await context.blobs.has([...entries.values()].flatMap(({ hash }) => hash ?? []));
  const isKept = ([path, { hash }]: readonly [WorkspacePath, Entry]): boolean => {
    if (erasures.ofAside(aside.plan, path) !== undefined) return false;
    return hash === undefined || (there.has(hash) && !erased.has(hash));
  };
  return new Map([...entries].filter(isKept));
}

interface Wanted {
  readonly path: WorkspacePath;
  readonly stat: OmittedStat;
}

/** Returns the omitted paths that may be kept aside before a run: small files and links that git ignores. */
function privateOf(omitted: OmittedPaths): OmittedPaths {
  const isPrivate = ({ omission, stat }: ListedOmission): boolean =>
    (stat.kind === "file" || stat.kind === "symlink") && stat.size <= MOST_FILE_BYTES && isIgnoredByGit(omission);
  return new Map([...omitted].filter(([, one]) => isPrivate(one)));
}

/**
 * Returns true if the workspace keeps files aside. Returns false while work off the record is running, because such
 * work could have written the files.
 */
export async function mayKeep(context: Context): Promise<boolean> {
  if ((context.offRecord.read()?.going.length ?? 0) > 0) return false;
  return (await workspaceRecord(context)).keepsAside !== false;
}

function sizeOf(entries: Iterable<Entry | undefined>): number {
  let bytes = 0;
  for (const entry of entries) bytes += entry?.kind === "dir" ? 0 : (entry?.size ?? 0);
  return bytes;
}

/** Returns the paths to keep aside, the smallest first, as long as their total size is at most `room` bytes. */
function wantedOf(omitted: OmittedPaths, room: number): Wanted[] {
  const small = [...privateOf(omitted)].map(([path, { stat }]): Wanted => ({ path, stat }));
  let bytes = 0;
  return small
    .toSorted((a, b) => a.stat.size - b.stat.size || comparePaths(a.path, b.path))
    .filter(({ stat }) => (bytes += stat.size) <= room);
}

export function isIgnoredByGit({ reason, detail = "" }: Omission): boolean {
  return reason === "excluded" && detail.startsWith("gitignore");
}

/**
 * Stores the content of a path, and returns the path's entry. Returns `undefined` if the path is gone, unreadable, or
 * changed since `stat`, or if its content was erased.
 */
async function keep(context: Context, batch: BlobBatch, { path, stat }: Wanted): Promise<Entry | undefined> {
  const content = await readNow(context, path);
  if (content !== undefined && (await erasedContents(context)).has(sha256(content))) return undefined;
  const [now] = await context.worktree.stats([path]);
  if (content === undefined || typeof now !== "object" || content.length !== stat.size) return undefined;
  if (now.mtimeNs !== stat.mtimeNs || now.ino !== stat.ino || now.kind !== stat.kind) return undefined;
  const [kind, mode] = stat.kind === "symlink" ? (["symlink", SYMLINK_MODE] as const) : (["file", stat.mode] as const);
  const hash = await batch.put(content);
  return { path, kind, mode, size: content.length, ...entryTime(stat.mtimeNs), hash };
}

/**
 * Returns the content of a file or link; `undefined` if the path is gone, unreadable, or too large for `Worktree.read`.
 * Such a path is not kept aside. If a run or action removes such a path, the end of that work reports the removal.
 */
async function readNow(context: Context, path: WorkspacePath): Promise<Buffer | undefined> {
  const before = await context.worktree.stats([path]);
  return before[0] === "unknown" ? undefined : context.worktree.read(path);
}

/**
 * Returns the present entry of a path, after storing its content. `undefined`: the path does not exist. `other`: the
 * path is larger than `most` bytes, or cannot be kept, or no plan can restore it.
 */
async function entryNow(
  context: Context,
  batch: BlobBatch,
  { path, most }: { readonly path: WorkspacePath; readonly most: number },
): Promise<Entry | undefined | "other"> {
  const [stat] = await context.worktree.stats([path]);
  if (stat === undefined) return undefined;
  if (stat !== "unknown" && stat.kind === "dir") return (await context.worktree.inspect(path)) ?? "other";
  if (stat === "unknown" || stat.kind === "special" || stat.size > most) return "other";
  return (await keep(context, batch, { path, stat })) ?? "other";
}

/**
 * Returns the plan for the record of a run or action that begins. Until the run or action ends, the plan says that all
 * kept-aside paths were removed.
 */
function asideBefore(
  context: Context,
  batch: BlobBatch,
  entries: ReadonlyMap<WorkspacePath, Entry>,
): Promise<Aside | undefined> {
  const changes = [...entries].map(([path, before]): Change => ({ path, before, after: undefined }));
  return asideOf(context, batch, changes);
}

async function asideOf(context: Context, batch: BlobBatch, changes: readonly Change[]): Promise<Aside | undefined> {
  if (changes.length === 0) return undefined;
  const plan = await batch.put(encodePlan(changes));
  return { plan, until: new Date(context.now() + ASIDE_MS).toISOString() };
}

/**
 * Returns the present entry of a path. `undefined`: the path does not exist. `other`: the path cannot be read, or no
 * plan can name its kind.
 */
export async function entryOnDisk(context: Context, path: WorkspacePath): Promise<Entry | undefined | "other"> {
  const [stat] = await context.worktree.stats([path]);
  if (stat === undefined) return undefined;
  if (stat === "unknown" || stat.kind === "special") return "other";
  try {
    return await context.worktree.inspect(path);
  } catch (error) {
    // An unreadable file exists, but its content is unknown.
    if (error instanceof ChronicleError && error.code === "IO") return "other";
    throw error;
  }
}

/**
 * Returns the changes of kept-aside paths of a session that is open, or whose process died before the session's end was
 * recorded. Compares the paths with the disk, because the plan in the session's record says that all of these paths
 * were removed. Stores nothing.
 */
export async function changedAside(context: Context, { plan }: Aside): Promise<readonly Change[]> {
  const bytes = await context.blobs.get(plan);
  const all = bytes === undefined ? [] : (await erasuresInForce(context)).leftAside(plan, decodePlan(bytes));
  const changed: Change[] = [];
  for (const { path, before } of all) {
    const now = await entryOnDisk(context, path);
    if (now === "other") changed.push({ path, before, after: undefined });
    else if (!sameEntry(before, now)) changed.push({ path, before, after: now });
  }
  return changed;
}

export function changedAsOmitted(changes: readonly Change[]): OmittedChange[] {
  return changes.map(({ path, after }) => ({
    path,
    type: after === undefined ? "deleted" : "modified",
    reason: "excluded",
    kept: true,
    lost: false,
  }));
}

/**
 * For the end of a session, returns the changes of kept-aside paths, and those of the git folders that the session has
 * removed (`lost`). Also keeps the present states of the changed paths, because an undo overwrites them. The caller
 * must hold a lease of the blob store until the record that names the plan is durable.
 */
export async function endOfAside(
  context: Context,
  { id, aside: before }: Pick<Session, "id" | "aside">,
  lost: Pick<KeptForRun, "entries" | "trees">,
): Promise<{ readonly changes: readonly OmittedChange[]; readonly aside: Aside | undefined }> {
  const changed = before === undefined ? [] : await changedAside(context, before);
  const known = changed.flatMap(({ path, before: entry }) => (entry === undefined ? [] : [[path, entry] as const]));
  const kept = await stillKept(context, new Map(known), before);
  const omitted = new Map([...kept].map(([path, entry]) => [path, listed(path, entry)]));
  return changesAside(context, { id, omitted, entries: new Map([...kept, ...lost.entries]) }, [], lost.trees);
}

/**
 * Returns an entry in the form of a listed omission. The stat of the result has inode 0, because the real inode is
 * unknown. A comparison of stats therefore finds every present path changed, and the contents are then compared.
 */
function listed(path: WorkspacePath, entry: Entry): ListedOmission {
  const { kind, mode, size } = entry;
  const stat = { kind, mode, size, mtimeNs: timeNsOf(entry), ino: 0n };
  return { omission: { path, reason: "excluded" }, stat };
}
