import { posix } from "node:path";
import {
  actionTargets,
  type ActionTargets,
  type TargetPayload,
  type TargetRoot,
} from "../../core/records/action-targets.ts";
import { isIn, placeOfRoot } from "../../core/tree/root-place.ts";
import type { OutsideFiles, OutsideLook, OutsideRequest } from "../../worktree/outside-files.ts";
import type { Context } from "../log/context.ts";
import { isMeant, type Omission } from "../../core/records/coverage.ts";
import { sameEntry, type Entry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { EventDraft } from "../../core/values/event.ts";
import {
  encodeOutside,
  markedOutside,
  outsidePath,
  outsideRecordId,
  pathOfOutsideId,
  readOutside,
  type OutsidePhase,
  type OutsideRecord,
} from "../../core/records/outside-record.ts";
import { comparePaths, isWithin, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import { addAll } from "../../util/long-lists.ts";
import { refuseFileOverQuota, type QuotaOptions } from "../log/quota.ts";
import { readEvent } from "../log/read-events.ts";
import { withBatch } from "../../storage/blob-store.ts";

// An action's tool may touch paths outside of the workspace. The states of these paths are kept before the action, and
// compared with their states after the action. `undo/restore.ts` restores the kept states.

/** The absolute paths outside of the workspace that an action is about to touch, as `actionTargets` returns them. */
interface OutsideTargets {
  readonly outside: readonly string[];
  /** The paths among `outside` beneath which the action may touch everything. */
  readonly outsideDeep: readonly string[];
  /** True if one path that cannot be kept stops the action. */
  readonly whole: boolean;
  readonly quota?: QuotaOptions;
}

interface OutsideOwner {
  readonly id: string;
  readonly actor: string;
}

/** The records to append, and the paths that could not be kept, in the form `@outside:…`. */
export interface OutsideDrafts {
  readonly drafts: readonly EventDraft[];
  readonly omitted: readonly Omission[];
}

/**
 * Keeps the states of these paths. Contents are durable when the promise resolves. The caller must append the drafts.
 * Until then, the caller must hold a lease of the blob store, which protects new contents from the collector. Throws
 * `REFUSED` if a path lies in Chronicle's own store, or if a deep path contains the store. Throws `LIMIT_EXCEEDED` if
 * the quota is exceeded.
 */
export async function backUpOutside(
  context: Context,
  targets: OutsideTargets,
  owner: OutsideOwner,
): Promise<OutsideDrafts> {
  const deep = new Set(targets.outsideDeep);
  const wanted = targets.outside.map((path) => ({ path: outsidePath(path), deep: deep.has(path) }));
  for (const { path, deep: all } of wanted) if (context.outside.isOwn(path, all)) throw refuseOwn(context, path);
  const looks = await lookAt(context, wanted, targets);
  return {
    drafts: await draftsOf(context, looks, { owner, phase: "before" }),
    omitted: looks.flatMap((look) => look.omitted.map(marked)),
  };
}

/**
 * Reads the outside paths of an action after the action. If everything beneath a path was kept before the action, also
 * reads everything that is beneath the path now. Returns a record for each path whose state differs from its last
 * record.
 */
export async function finishOutside(
  context: Context,
  action: OutsideOwner & { readonly outside: readonly string[] },
  quota: QuotaOptions = {},
): Promise<OutsideDrafts> {
  const wanted: Wanted[] = [];
  for (const absolute of action.outside) {
    const path = outsidePath(absolute);
    const last = await lastOf(context, path);
    wanted.push({ path, deep: last?.deep === true });
  }
  const looks = await lookAt(context, wanted, { whole: false, quota });
  return {
    drafts: await draftsOf(context, looks, { owner: action, phase: "after" }),
    omitted: looks.flatMap((look) => look.omitted.map(marked)),
  };
}

interface Wanted {
  readonly path: WorkspacePath;
  readonly deep: boolean;
}

interface Look extends OutsideLook {
  readonly deep: boolean;
}

async function lookAt(
  context: Context,
  wanted: readonly Wanted[],
  { whole, quota = {} }: Pick<OutsideTargets, "whole" | "quota">,
): Promise<Look[]> {
  if (wanted.length === 0) return [];
  return withBatch(context.blobs, async (batch) => {
    const looks: Look[] = [];
    const keep: OutsideRequest["keep"] = async (pieces, { path, size }) => {
      const recorded = async () => (await lastOf(context, path))?.entry?.size;
      await refuseFileOverQuota(context, { size, recorded }, quota);
      return batch.putStream(pieces);
    };
    for (const { path, deep } of wanted) {
      const look = await context.outside.look(path, { deep, whole, keep });
      looks.push({ found: look.found, omitted: look.omitted, deep });
    }
    return looks;
  });
}

interface DraftsGiven {
  readonly owner: OutsideOwner;
  readonly phase: OutsidePhase;
}

/** Returns the records of the found states. After an action, only new, changed and deleted paths get a record. */
async function draftsOf(context: Context, looks: readonly Look[], given: DraftsGiven): Promise<EventDraft[]> {
  const drafts = new Map<WorkspacePath, EventDraft>();
  for (const { found, omitted, deep } of looks) {
    const rows: { readonly path: WorkspacePath; readonly entry: Entry | undefined }[] = [...found];
    if (given.phase === "after" && deep) addAll(rows, await goneBeneath(context, { found, omitted }, given.owner.id));
    for (const [i, { path, entry }] of rows.entries()) {
      const last = await lastOf(context, path);
      if (given.phase === "after" && (last === undefined ? entry === undefined : sameEntry(last.entry, entry)))
        continue;
      const record: OutsideRecord = {
        entry,
        iteration: (last?.iteration ?? 0) + 1,
        phase: given.phase,
        action: given.owner.id,
        actor: given.owner.actor,
        deep: deep && i === 0,
      };
      drafts.set(path, { op: "upsert", recordId: outsideRecordId(path), record: encodeOutside(record) });
    }
  }
  return [...drafts.values()];
}

/**
 * Returns the paths beneath the top (the first path in `found`) that no longer exist, if this action recorded their
 * last states. Leaves out paths that could not be read, because they may still exist.
 */
async function goneBeneath(
  context: Context,
  { found, omitted }: OutsideLook,
  action: string,
): Promise<{ readonly path: WorkspacePath; readonly entry: undefined }[]> {
  const top = found[0]?.path;
  if (top === undefined) return [];
  const present = new Set(found.map((one) => one.path));
  const unread = omitted.filter((one) => !isMeant(one));
  const gone: { readonly path: WorkspacePath; readonly entry: undefined }[] = [];
  for (const path of await recordedBeneath(context, top)) {
    if (present.has(path) || unread.some((one) => isWithin(path, one.path))) continue;
    const last = await lastOf(context, path);
    if (last?.action === action && last.entry !== undefined) gone.push({ path, entry: undefined });
  }
  return gone;
}

async function recordedBeneath(context: Context, folder: WorkspacePath): Promise<WorkspacePath[]> {
  const rows = [
    ...(await context.index.records(`outside:/${folder}/`)),
    ...(await context.index.records("outside64:")),
  ];
  const paths = rows.flatMap(({ recordId }) => pathOfOutsideId(recordId) ?? []);
  return paths.filter((path) => path !== folder && isWithin(path, folder)).sort(comparePaths);
}

async function lastOf(context: Context, path: WorkspacePath): Promise<OutsideRecord | undefined> {
  const row = await context.index.record(outsideRecordId(path));
  if (row === undefined) return undefined;
  return readOutside(row.recordId, (await readEvent(context, row)).record).record;
}

/**
 * Returns the states that an action kept of a path and of everything beneath the path. The map is empty if the action
 * kept none.
 */
export async function keptOutside(
  context: Context,
  action: string,
  top: WorkspacePath,
): Promise<Map<WorkspacePath, OutsideRecord>> {
  const kept = new Map<WorkspacePath, OutsideRecord>();
  for (const path of [top, ...(await recordedBeneath(context, top))]) {
    for (const row of (await context.index.recordHistory(outsideRecordId(path))).toReversed()) {
      const { record } = readOutside(row.recordId, (await readEvent(context, row)).record);
      if (record.action !== action || record.phase !== "before") continue;
      kept.set(path, record);
      break;
    }
  }
  return kept;
}

function marked(one: Omission): Omission {
  const path = splitRoot(one.path).root === undefined ? markedOutside(one.path) : one.path;
  return { ...one, path };
}

function refuseOwn({ outside }: Context, path: WorkspacePath): ChronicleError {
  const how = outside.isOwn(path, false) ? "lies in" : "holds";
  return new ChronicleError("REFUSED", `/${path} ${how} Chronicle's own store: no tool may change the store`, {
    hint: "use Chronicle's commands instead",
    data: { path: `/${path}` },
  });
}

const NOT_FROM_HERE = "a remote caller may touch nothing outside of the workspace";

/**
 * Returns a view of the outside files for a remote caller. Such a caller may use the workspace, but not the machine.
 * The view reads no outside file, not even to follow a link, and replaces none. Outside paths that an action names are
 * reported as not kept. Paths within the tracked roots (a repository's state, a link that stays inside) belong to the
 * workspace, and every caller may read them. If a root is a single file, only that file is inside.
 */
export function closedOutside(outside: OutsideFiles, roots: readonly TargetRoot[]): OutsideFiles {
  const places = roots.map(placeOfRoot);
  const isInside = (absolute: string): boolean => places.some((place) => isIn(absolute, place));
  return {
    home: outside.home,
    isClosed: true,
    // For an outside path, the answer is always false, because the true answer would reveal the place of the store. The
    // view never reads such a path anyway.
    isOwn: (path, deep) => isInside(`/${path}`) && outside.isOwn(path, deep),
    resolve(absolute) {
      const asGiven = { name: absolute, end: absolute };
      if (!isInside(absolute)) return asGiven;
      const real = outside.resolve(absolute);
      return isInside(real.name) && isInside(real.end) ? real : asGiven;
    },
    look: (path, request) =>
      request.isInside === true && isInside(`/${path}`)
        ? outside.look(path, request)
        : Promise.resolve({ found: [], omitted: [{ path, reason: "unreadable", detail: NOT_FROM_HERE }] }),
    replace: () => Promise.resolve(NOT_FROM_HERE),
  };
}

/**
 * Returns the paths that an action is about to touch. A remote caller's relative paths are resolved as if the roots lay
 * in `/`. A path that leads out of the roots then reveals nothing of the machine: `../x` becomes `/x`, and `~/x`
 * becomes `/~/x`.
 */
export function targetsFor({ worktree, outside }: Context, type: string, payload: TargetPayload): ActionTargets {
  const { home, isClosed } = outside;
  const { roots } = worktree;
  if (isClosed !== true) return actionTargets(type, payload, { roots, home });
  // The real roots are given, too, so that an absolute path into the workspace is still a path of the workspace.
  const named = actionTargets(type, payload, { roots: [...atTheTop(roots), ...roots], home });
  if (named.kind === "none" || payload.command === undefined || home === undefined) return named;
  const told = (path: string): string =>
    path === home || path.startsWith(`${home}/`) ? `/~${path.slice(home.length)}` : path;
  return { ...named, outside: named.outside.map(told), outsideDeep: named.outsideDeep.map(told) };
}

/**
 * Returns the roots as if the deepest folder that contains all of them were `/`. For example, `/home/a/x` and
 * `/home/a/y` become `/x` and `/y`. Returns an empty list if only `/` contains all of them.
 */
function atTheTop(roots: readonly TargetRoot[]): TargetRoot[] {
  const [first = "", ...others] = roots.map(placeOfRoot);
  let above = posix.dirname(first);
  while (above.length > 1 && others.some((one) => !one.startsWith(`${above}/`))) above = posix.dirname(above);
  if (above.length <= 1) return [];
  return roots.map((root) => ({ ...root, folder: root.folder.slice(above.length) || "/" }));
}
