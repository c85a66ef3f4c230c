import { basename, join } from "node:path";
import type { ReplicaHalt, FolderIdentity, ReplicaRecord } from "../core/records/replica-record.ts";
import type { WorkspaceRecord } from "../core/records/workspace-record.ts";
import { answer } from "../engine/log/answer.ts";
import { workspaceRecord } from "../engine/log/own-record.ts";
import { isFolderStillAt } from "../store/folder-identity.ts";
import { openContext, type StoreParts, type OpenedContext } from "./open-context.ts";
import { openMirror } from "./open-mirror.ts";
import { storeTasks, isThere } from "./store-tasks.ts";
import { foldsNames, holdsAllEntries } from "../core/tree/folder-traits.ts";
import { ROOT } from "../core/values/path.ts";
import type { Disk } from "../disk/disk.ts";
import { makeMissingFolders } from "../disk/make-folders.ts";
import { StagedEarlyFiles } from "./staged-early-files.ts";
import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import { LogMirror } from "../replication/replica/log-mirror.ts";
import type { Mirror } from "../replication/replica/mirror.ts";
import type { ReplicaOptions } from "../replication/replica/replica-session.ts";
import { FileWitnessNotes } from "../replication/replica/witness-notes.ts";
import { FileWithheldContents } from "../replication/replica/withheld-contents.ts";
import type { UpstreamLayout } from "../storage/layout.ts";
import type { Context } from "../engine/log/context.ts";
import { noteUnfollowed } from "../engine/capture/unclean-end.ts";
import { followOrigin } from "../store/follow-origin.ts";
import { makeFolders } from "../store/file-head-keeper.ts";
import { FileMirrorPlaces } from "./mirror-places.ts";
import type { ConflictShape } from "../api/conflict-shape.ts";
import type { StoreApi } from "../api/store-api.ts";
import type { Channel } from "../replication/channel.ts";
import { findReplicaRecord } from "../replication/folder/cycle/find-replica-record.ts";
import type {
  AskedOrigin,
  BeginOptions,
  OpenSyncPlace,
  SyncPlace,
  SyncPlaces,
} from "../replication/folder/sync/sync-places.ts";
import { NODE_TIMERS } from "../util/timers.ts";
import { dialOrigin } from "../replication/replica/dial-origin.ts";
import { rulesForNames } from "../worktree/files/folder-probe.ts";
import { listConflicts } from "../engine/undo/conflicts.ts";
import { refuseOwnFolders } from "../disk/refuse-own-folders.ts";
import { refuseProcessPath } from "../store/roots.ts";
import { refuseSystemFolder } from "../store/refuse-place.ts";
import { SyncTokens } from "../store/sync-tokens.ts";
import { watchLog } from "../store/watch-log.ts";
import { optional } from "../util/optional.ts";

/** The origin in a replica's own record, and the token for this origin. */
export interface KnownOrigin {
  readonly url: string;
  /**
   * The id of the origin's workspace. Until the origin has answered: the requested name, or `undefined` if none was
   * requested.
   */
  readonly workspace: string | undefined;
  readonly token: string | undefined;
}

/**
 * The syncs of a store on this machine. The token of each sync is a file (mode 0600) in `sync-tokens/` of the
 * configuration folder.
 */
export class FileSyncPlaces implements SyncPlaces {
  readonly #store: StoreApi;
  readonly #parts: StoreParts;

  constructor(store: StoreApi, parts: StoreParts) {
    this.#store = store;
    this.#parts = parts;
  }

  async list(): Promise<SyncPlace[]> {
    const { layout } = this.#parts;
    const places: SyncPlace[] = [];
    for (const id of namesIn(this.#disk, layout.workspaces)) {
      if (this.#disk.lstat(layout.workspace(id).upstream.folder) === undefined) continue;
      const place = await this.#look(id);
      if (place?.record !== undefined) places.push(place);
    }
    return places;
  }

  async begin(folder: string, { force = false, follows }: BeginOptions = {}): Promise<string> {
    refuseProcessPath(this.#disk, folder);
    const { layout, configFolder } = this.#parts;
    refuseOwnFolders(this.#disk, folder, "a sync", [layout.home, configFolder]);
    // Check the given path before any folder is made. If links are in the path, their target can be checked only once
    // the folder exists.
    if (!force) refuseSystemFolder(folder);
    if (follows !== undefined) await this.#refuseWithin(folder, follows);
    makeMissingFolders(this.#disk, folder, 0o755);
    const real = this.#disk.realpath(folder);
    if (!force) refuseSystemFolder(real);
    // A history can record a single file, but a sync needs a folder.
    if (this.#disk.lstat(real)?.kind !== "dir") {
      throw new ChronicleError("USAGE", `${folder} is a file`, {
        hint: "a sync takes a folder: name one, existing or new",
      });
    }
    const { workspace } = await this.#store.init({ roots: [folder], force });
    await workspace.close();
    return workspace.id;
  }

  /**
   * Throws `UNSAFE` if the folder and the origin's folder are nested, or if the folder lies within another folder that
   * follows the same origin. The origin's folder is known only if the origin is a workspace of this store. Without this
   * check, a sync of nested folders would replicate files before its session detects the nesting and stops.
   */
  async #refuseWithin(
    folder: string,
    { url, workspace, answered }: NonNullable<BeginOptions["follows"]>,
  ): Promise<void> {
    const place = placeOf(this.#disk, folder);
    const halt = answered === undefined ? undefined : await checkNestingInStore(this.#parts, answered, place);
    if (halt !== undefined) {
      throw new ChronicleError("UNSAFE", halt.detail ?? halt.reason, {
        hint: "nothing was made: choose a folder outside of the origin's folder",
        data: { folder },
      });
    }
    for (const { folder: around, record } of await this.list()) {
      const isSame = record?.url === url && record.workspace === workspace && isBarring(record);
      if (!isSame || !place.startsWith(`${around}/`)) continue;
      throw new ChronicleError("UNSAFE", `${folder} lies in another folder that follows this origin (${around})`, {
        hint: "the outer folder would hold copies of itself without end: choose a folder outside of the outer folder",
        data: { folder, other: around },
      });
    }
  }

  async open(id: string): Promise<OpenSyncPlace> {
    await using opening = new AsyncDisposableStack();
    const hold = opening.use(await openReplica(this.#parts, id));
    const { context, mirror, options } = hold;
    const folder = folderOf(context);
    const record = await findReplicaRecord(context);
    const { log: ownLog } = this.#parts.layout.workspace(id);
    opening.move();
    return {
      id,
      folder,
      record,
      conflicts: () => answer(context, () => conflictsOf(context, true)),
      parts: {
        context,
        mirror,
        session: options,
        identity: () => identityOf(this.#disk, folder),
        nameRules: rulesForNames(context.worktree.traitsOf(ROOT)),
        apart: this.#apart(id, folder),
        watchOwn: (onGrown) => watchLog(this.#disk, ownLog, { timers: NODE_TIMERS, onGrown }),
        beforeMove: () => this.#parts.roots.drop(id),
      },
      [Symbol.asyncDispose]: () => hold[Symbol.asyncDispose](),
    };
  }

  /**
   * Returns a function that detects nesting between the folder, the folder of its origin, and the folders of the
   * origin's other replicas. If the folder is nested with one of them, the function returns a halt (the reason why the
   * sync must stop). Otherwise, it returns `undefined`. Once a check has found no nesting, later calls return
   * `undefined` at once.
   */
  #apart(id: string, folder: string): NonNullable<OpenSyncPlace["parts"]["apart"]> {
    let isApart = false;
    return async ({ origin, url }) => {
      if (isApart) return undefined;
      const others = (await this.list()).filter(({ record }) => record?.origin === origin && isBarring(record));
      const beside = others.filter((one) => one.id !== id).map((one) => one.folder);
      const halt = await checkNesting(this.#parts, { id, folder, url, beside });
      isApart = halt === undefined;
      return halt;
    };
  }

  keepToken(id: string, token: string | undefined): void {
    if (token === undefined) this.#tokens.remove(id);
    else this.#tokens.keep(id, token);
  }

  tokenOf(id: string): string | undefined {
    return this.#tokens.get(id);
  }

  /** Returns the origin of a workspace; `undefined` if the workspace follows no origin, is gone, or cannot be read. */
  async originOf(id: string): Promise<KnownOrigin | undefined> {
    const record = (await this.#look(id))?.record;
    if (record === undefined) return undefined;
    const workspace = record.origin === "" ? record.workspace : record.origin;
    return { url: record.url, workspace, token: this.#tokens.get(id) };
  }

  async find(folder: string): Promise<SyncPlace | undefined> {
    const place = placeOf(this.#disk, folder);
    return (await this.list()).find((one) => one.folder === place);
  }

  connect(id: string, record: Pick<ReplicaRecord, "url" | "workspace">, signal: AbortSignal): Promise<Channel> {
    return this.dial({ ...record, token: this.#tokens.get(id) }, signal);
  }

  dial({ url, workspace, token }: AskedOrigin, signal: AbortSignal): Promise<Channel> {
    const named = workspace === undefined ? {} : { workspace };
    return dialOrigin({ url, ...named, ...optional({ token }) }, signal);
  }

  /**
   * Returns the sync of a workspace; `undefined` if the workspace is gone or cannot be read. `chronicle workspaces`
   * reports why a workspace cannot be read.
   */
  async #look(id: string): Promise<SyncPlace | undefined> {
    try {
      const { context, close } = await openContext(this.#parts, id, {
        readOnly: true,
        tasks: storeTasks(this.#parts, id),
      });
      try {
        return await answer(context, async () => ({
          id,
          folder: folderOf(context),
          record: await findReplicaRecord(context),
          conflicts: await conflictsOf(context, false),
        }));
      } finally {
        await close();
      }
    } catch (error) {
      if (error instanceof ChronicleError) return undefined;
      throw error;
    }
  }

  get #disk(): Disk {
    return this.#parts.backends.disk;
  }

  get #tokens(): SyncTokens {
    return new SyncTokens(this.#disk, this.#parts.configFolder);
  }
}

/**
 * True if this sync does not allow another replica of the same origin to have a folder that is nested with the folder
 * of this sync. A sync that is stopped, or halted with the reason `nested`, allows this.
 */
function isBarring({ stopped, halted }: ReplicaRecord): boolean {
  return stopped !== true && halted?.reason !== "nested";
}

function folderOf({ worktree }: Context): string {
  return worktree.roots[0]?.folder ?? "";
}

async function conflictsOf(context: Context, patch: boolean): Promise<ConflictShape[]> {
  return (await listConflicts(context, { patch })).filter(({ cause }) => cause === "sync");
}

/**
 * Returns the identity of a folder; `undefined` if there is no folder. Throws the disk's error if the path cannot be
 * inspected.
 */
function identityOf(disk: Disk, folder: string): FolderIdentity | undefined {
  const stat = disk.lstat(folder);
  if (stat?.kind !== "dir") return undefined;
  const birth = disk.birthOf(folder);
  return { dev: String(stat.dev), ino: String(stat.ino), ...optional({ birth }) };
}

function namesIn(disk: Disk, folder: string): string[] {
  try {
    return disk.list(folder).map(({ name }) => name.toString());
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** Returns the path of a folder with its links resolved. The folder may not exist yet. */
function placeOf(disk: Disk, folder: string): string {
  if (disk.lstat(folder) !== undefined) return disk.realpath(folder);
  return join(placeOf(disk, join(folder, "..")), basename(folder));
}

interface Placed {
  readonly id: string;
  readonly folder: string;
  readonly url: string;
  /** The folders of other replicas of this origin. */
  readonly beside: readonly string[];
}

/**
 * Returns a halt for a folder that is nested with the folder of its origin, or with another folder that follows the
 * same origin. Such a folder would contain copies of itself without end. The origin's folder is taken from the origin's
 * history. That folder is checked only if both of these conditions hold:
 * - The origin is in this store, or its address is a socket or a loopback address.
 * - The recorded path still leads to the recorded folder.
 */
async function checkNesting(parts: StoreParts, placed: Placed): Promise<ReplicaHalt | undefined> {
  const { folder, beside } = placed;
  const other = beside.find((one) => areNested(one, folder));
  if (other !== undefined) return nested(folder, other, "another folder that follows this origin");
  const origin = await originFolder(parts, placed);
  if (origin === undefined || !areNested(origin, folder)) return undefined;
  return nested(folder, origin, "the folder that it follows");
}

/**
 * Does the same as `checkNesting` for a folder that does not follow the origin yet. Checks only the origin's own
 * folder, and only if the origin is a workspace of this store.
 */
async function checkNestingInStore(
  parts: StoreParts,
  origin: string,
  folder: string,
): Promise<ReplicaHalt | undefined> {
  const { disk } = parts.backends;
  if (!parts.backends.hasLog(parts.layout.workspace(origin).log)) return undefined;
  const { context, close } = await openContext(parts, origin, { readOnly: true, tasks: storeTasks(parts, origin) });
  try {
    const record = await answer(context, () => workspaceRecord(context));
    const path = record.roots[0]?.folder ?? "";
    if (path === "" || !isFolderStillAt(disk, path, record) || !areNested(path, folder)) return undefined;
    return nested(folder, path, "the folder that it follows");
  } finally {
    await close();
  }
}

/** True if two absolute paths without links are equal, or one contains the other. */
function areNested(a: string, b: string): boolean {
  const [outer, inner] = a.length <= b.length ? [a, b] : [b, a];
  return inner === outer || outer === "/" || inner.startsWith(`${outer}/`);
}

function nested(folder: string, other: string, what: string): ReplicaHalt {
  const how = folder.length > other.length ? "lies in" : folder === other ? "is" : "lies around";
  return { reason: "nested", detail: `${folder} ${how} ${what} (${other}), and would hold itself without end` };
}

/**
 * Returns the origin's folder; `undefined` if the folder may be on another machine, or if its path does not lead to the
 * recorded folder any more.
 */
async function originFolder(parts: StoreParts, { id, url }: Placed): Promise<string | undefined> {
  const { disk } = parts.backends;
  const { workspaceId, record } = await recordOfOrigin(parts, id);
  const isNear = parts.backends.hasLog(parts.layout.workspace(workspaceId).log) || isHere(url);
  const path = record.roots[0]?.folder ?? "";
  return isNear && path !== "" && isFolderStillAt(disk, path, record) ? path : undefined;
}

async function recordOfOrigin(
  parts: StoreParts,
  id: string,
): Promise<{ readonly workspaceId: string; readonly record: WorkspaceRecord }> {
  const { context, close } = await openMirror(parts, id, { tasks: storeTasks(parts, id) });
  try {
    return { workspaceId: context.workspaceId, record: await answer(context, () => workspaceRecord(context)) };
  } finally {
    await close();
  }
}

/**
 * True if the address is a socket or a loopback address. The caller must still check that the folder is the recorded
 * folder, because a tunnel can connect such an address to another machine.
 */
function isHere(url: string): boolean {
  if (url.startsWith("unix:")) return true;
  const host = URL.canParse(url) ? new URL(url).hostname : "";
  return host === "localhost" || host === "[::1]" || host.startsWith("127.");
}

/**
 * An open workspace that follows an origin. Until the hold is disposed of, no other process can follow the origin for
 * this workspace.
 */
export interface ReplicaHold extends AsyncDisposable {
  readonly context: Context;
  readonly mirror: Mirror;
  /** Options for a `ReplicaSession`. The caller adds `sandboxId` (the workspace's id) and its own options. */
  readonly options: Pick<ReplicaOptions, "upstream" | "mirror" | "blobs" | "notes" | "withheld" | "early">;
}

/**
 * Opens a workspace as a replica. Throws `NOT_FOUND` if there is no such workspace, `LOCKED` if another process already
 * follows the origin for this workspace, and `LOG_DAMAGED` if the mirror is damaged.
 */
export async function openReplica(parts: StoreParts, id: string): Promise<ReplicaHold> {
  const { backends, layout, blobs } = parts;
  const { upstream } = layout.workspace(id);
  if (!isThere(parts, id)) throw new ChronicleError("NOT_FOUND", `there is no workspace ${JSON.stringify(id)}`);
  makeFolders(backends.disk, upstream.folder);
  await using closing = new AsyncDisposableStack();
  closing.use(await followOrigin(backends, upstream));
  const { context, close, early } = await openContext(parts, id, { tasks: storeTasks(parts, id), follows: true });
  closing.defer(async () => {
    noteUnfollowed(context);
    await close();
  });
  const files = early === undefined ? undefined : closing.use(earlyFilesOf(backends.disk, early));
  const mirror = await openLogMirror(parts, upstream);
  closing.defer(() => mirror.close());
  const notes = new FileWitnessNotes(backends.disk, upstream.witness);
  const withheld = new FileWithheldContents(backends.disk, upstream.withheld);
  const open = closing.move();
  return {
    context,
    mirror,
    options: { upstream: mirror, mirror, blobs, notes, withheld, early: files },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Opens the mirror. For a damaged mirror, the hint of the error names the steps to fetch the whole mirror again. */
async function openLogMirror(parts: StoreParts, layout: UpstreamLayout): Promise<LogMirror> {
  try {
    return await LogMirror.open(new FileMirrorPlaces(parts, layout));
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "LOG_DAMAGED") throw error;
    const { code, message, data } = error;
    const hint = `move ${layout.folder} away and connect again: the history is then fetched again`;
    throw new ChronicleError(code, message, { hint, data, cause: error });
  }
}

/** The minimum number of files, and of bytes, for which starting threads is worthwhile. */
const LEAST = { files: 1_500, bytes: 32 * 1024 * 1024 };

/**
 * The minimum if there are no worker threads, as in the simulation. Every file is then written early (while the
 * contents of the sync still arrive), so that the simulation tests early writes.
 */
const ANY = { files: 1, bytes: 1 };

/**
 * Returns the writer that stages a first sync's files while their contents arrive. First removes the files that an
 * earlier process has staged. Returns `undefined` in these cases:
 * - The worktree has no stage.
 * - The disk folds names (it ignores case, for example). Two names may then be one file.
 * - The disk cannot hold every kind of entry or every permission. When the sync applies the files later, it reports
 *   what the disk cannot hold.
 */
function earlyFilesOf(
  disk: Disk,
  { worktree, pools }: NonNullable<OpenedContext["early"]>,
): StagedEarlyFiles | undefined {
  const { early: stage } = worktree;
  if (stage === undefined) return undefined;
  stage.clear();
  const traits = worktree.traitsOf(ROOT);
  if (foldsNames(traits) || !traits.modes || !holdsAllEntries(traits)) return undefined;
  return new StagedEarlyFiles({ disk, stage, pools, least: pools === undefined ? ANY : LEAST });
}
