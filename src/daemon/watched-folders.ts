import { join } from "node:path";
import type { Disk, FileStat } from "../disk/disk.ts";
import type { StoreApi } from "../api/store-api.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import { wasMoved } from "../core/tree/moved-folder.ts";
import type { Lease, OpenWorkspaces } from "../server/callers/open-workspaces.ts";
import type { WorkspaceShape } from "../api/shapes.ts";
import { ChronicleError } from "../core/values/errors.ts";

/** The minimum time between two listings of the store, in milliseconds. */
const LIST_MS = 1_000;

/**
 * The minimum ratio of the pause after a listing to the duration of the listing. So listings take at most a twentieth
 * of the time, even if a program begins thousands of workspaces.
 */
const BUSY_FACTOR = 20;

/**
 * The age in milliseconds from which the modification time of `<store>/workspaces` is relied on. A second change within
 * one tick of the file system's clock may leave the modification time of a folder unchanged. No file system's clock has
 * a longer tick than this.
 */
const TICK_MS = 2_000;

/**
 * The time, in milliseconds, for which a log that the store does not list makes new listings due. It is counted from
 * the last write to the log. A new workspace can have a log before the store lists the workspace.
 */
const NEW_MS = 60_000;

/** The interval at which folders that could not be watched are checked again, in milliseconds. */
const AWAY_MS = 5_000;

/** The first delay before a workspace that could not be opened, or has a problem, is tried again, in milliseconds. */
const RETRY_MS = 30_000;

/** The maximum time between two tries, in milliseconds. The time doubles while tries fail. */
const LONGEST_RETRY_MS = 600_000;

interface WatchedFoldersOptions {
  readonly store: Pick<StoreApi, "home" | "workspaces">;
  readonly disk: Disk;
  /** Opens workspaces, and follows the folder of each workspace that it opens. */
  readonly workspaces: OpenWorkspaces;
  /** The maximum number of workspaces that are watched. */
  readonly most: number;
  /** Returns the id of the workspace that `HostedFolder` watches instead; `undefined` if it watches no workspace. */
  readonly except: () => string | undefined;
  readonly onError: (error: unknown) => void;
  /**
   * Called once, when the folders to watch are chosen. `left` is the number of folders that are not watched because of
   * `most`.
   */
  readonly onChosen?: (watched: number, left: number) => void;
}

/**
 * The workspaces whose folders a server watches as long as it runs. These are the most recently used workspaces, up to
 * a limit. New workspaces are detected by their folders in the store, so that most calls of `keepUp` need not list the
 * workspaces.
 */
export class WatchedFolders {
  readonly #options: WatchedFoldersOptions;
  readonly #leases = new Map<string, Lease>();
  /** The ids of the folders in `<store>/workspaces` that do not make a new listing due. */
  #listed: ReadonlySet<string> = new Set();
  /** The names of the folders in `<store>/workspaces`, as they were last listed. */
  #ids: readonly string[] = [];
  /**
   * Maps an id to a workspace that could not be watched at the last listing. `hindrance`: the text that `#hindranceOf`
   * returned then.
   */
  #away: ReadonlyMap<string, { readonly shape: WorkspaceShape; readonly hindrance: string }> = new Map();
  /** The earliest time of the next check of `#away` (from `performance.now`). */
  #lookAtAwayAt = 0;
  /** Workspaces that were archived or removed while they were watched. The next listing looks at them again. */
  readonly #ended = new Set<string>();
  /**
   * The time of the next try to watch the workspaces that have a problem or could not be opened (from
   * `performance.now`).
   */
  #retryAt = Infinity;
  #retryMs = RETRY_MS;
  /**
   * The inode and the modification time of `<store>/workspaces` at the last listing of `#ids`; `undefined` if the
   * folder must be listed again.
   */
  #mark: string | undefined;
  /** The earliest time of the next listing of the store (from `performance.now`). */
  #listAgainAt = 0;
  #working: Promise<void> | undefined;
  #isChosen = false;
  #isClosed = false;

  constructor(options: WatchedFoldersOptions) {
    this.#options = options;
  }

  /**
   * Begins to watch new workspaces. Replaces the lease of a watched workspace that was closed or reopened. Gives back
   * the lease of a workspace whose history was removed. Never rejects, because errors are passed to `onError`. A call
   * during another call does no work of its own, and ends when the other call ends.
   */
  keepUp(): Promise<void> {
    this.#working ??= this.#work().finally(() => (this.#working = undefined));
    return this.#working;
  }

  /** Makes the next `keepUp` list the store, and try again to open workspaces that could not be opened. */
  lookAgain(): void {
    this.#listed = new Set();
    this.#mark = undefined;
    this.#listAgainAt = 0;
  }

  /** Gives all leases back, after a running `keepUp` has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#working;
    for (const id of this.#leases.keys()) this.#giveBack(id);
  }

  async #work(): Promise<void> {
    try {
      for (const [id, lease] of this.#leases) {
        const isThere = this.#logOf(id) !== undefined;
        if (this.#isClosed || (isThere && this.#options.workspaces.isCurrent(lease.workspace))) continue;
        this.#giveBack(id);
        if (isThere) await this.#watch(id);
      }
      if (this.#isDue()) await this.#list();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /**
   * Returns true if the store must be listed now: on the first call, when a new workspace exists, and when
   * `#isSomeBack` returns true. Returns false before `#listAgainAt`, and while `most` workspaces are watched. A new
   * folder counts only once it has a log, because the log is created after the folder. Updates `#ids` and `#mark`.
   */
  #isDue(): boolean {
    const { disk, store, most } = this.#options;
    if (this.#isClosed || performance.now() < this.#listAgainAt || this.#leases.size >= Math.max(most, 1)) return false;
    const folder = join(store.home, "workspaces");
    const stat = disk.lstat(folder);
    if (stat === undefined) return false;
    const mark = `${stat.ino} ${stat.mtimeNs}`;
    if (mark !== this.#mark) this.#ids = disk.list(folder).map(({ name }) => name.toString());
    this.#mark = Date.now() - Number(stat.mtimeNs / 1_000_000n) > TICK_MS ? mark : undefined;
    if (!this.#isChosen || this.#ids.some((id) => !this.#listed.has(id) && this.#logOf(id) !== undefined)) return true;
    return this.#isSomeBack();
  }

  /**
   * Returns true if a workspace that was archived, removed or could not be watched can perhaps be watched now. Checks
   * `#away` at most once in `AWAY_MS`.
   */
  #isSomeBack(): boolean {
    const now = performance.now();
    if (now >= this.#retryAt || [...this.#ended].some((id) => this.#isFree(id))) return true;
    if (now < this.#lookAtAwayAt) return false;
    this.#lookAtAwayAt = now + AWAY_MS;
    return [...this.#away.values()].some(({ shape, hindrance }) => this.#hindranceOf(shape) !== hindrance);
  }

  #isFree(id: string): boolean {
    return !this.#options.workspaces.isBeingGivenUp(id);
  }

  /**
   * Returns a text that stands for the reason why a workspace cannot be watched. A changed text means that the
   * workspace can perhaps be watched. If the workspace is archived or has a problem, the text is the mark of its log.
   * Otherwise, the text has the device and the inode of the workspace's folder, and is empty if the folder is missing.
   */
  #hindranceOf({ id, path, archived, problem }: WorkspaceShape): string {
    const { disk, store } = this.#options;
    if (archived === true || problem !== undefined) return logMark({ disk, home: store.home }, id);
    const folder = disk.lstat(path);
    return folder === undefined ? "" : `${folder.dev} ${folder.ino}`;
  }

  /**
   * Returns the time of the last write to a workspace's log in epoch milliseconds; `undefined` if the history has not
   * begun or was removed.
   */
  #logOf(id: string): number | undefined {
    const { disk, store } = this.#options;
    const stat = logOf({ disk, home: store.home }, id);
    return stat === undefined ? undefined : Number(stat.mtimeNs / 1_000_000n);
  }

  async #list(): Promise<void> {
    const { most, onChosen } = this.#options;
    const old = this.#ids.filter((id) => Date.now() - (this.#logOf(id) ?? Infinity) > NEW_MS);
    const ended = [...this.#ended].filter((id) => this.#isFree(id));
    const all = await this.#all();
    const readAlone = this.#noteAway(all);
    for (const id of ended) this.#ended.delete(id);
    const wanted = all.filter((one) => this.#isWanted(one)).toSorted(lastFirst);
    this.#listed = new Set([...old, ...all.map(({ id }) => id)]);
    const chosen = wanted.slice(0, Math.max(0, most - this.#leases.size));
    if (!this.#isChosen) onChosen?.(chosen.length, wanted.length - chosen.length);
    this.#isChosen = true;
    for (const { id } of chosen) {
      if (this.#isClosed) return;
      // If the workspace was opened while it was archived, its folder is not followed. After `letGo`, `#watch` opens
      // the workspace anew.
      if (readAlone.has(id)) this.#options.workspaces.letGo(id);
      await this.#watch(id);
    }
  }

  async #all(): Promise<readonly WorkspaceShape[]> {
    const began = performance.now();
    try {
      return await this.#options.store.workspaces();
    } finally {
      this.#listAgainAt = performance.now() + Math.max(LIST_MS, (performance.now() - began) * BUSY_FACTOR);
    }
  }

  /**
   * Notes in `#away` the workspaces that cannot be watched, and reports new problems. Schedules the next try if a
   * workspace has a problem. Otherwise, no try is scheduled. Returns the ids of the workspaces that were archived at
   * the previous listing. If `#hindranceOf` throws, nothing is changed, so the next listing is still due.
   */
  #noteAway(all: readonly WorkspaceShape[]): ReadonlySet<string> {
    const before = [...this.#away].filter(([, { shape }]) => shape.archived === true).map(([id]) => id);
    const ill = all.filter(({ id, problem }) => problem !== undefined && !this.#leases.has(id));
    const isAway = ({ path, present, archived }: WorkspaceShape): boolean =>
      path !== "" && (!present || archived === true);
    const away = all
      .filter((one) => isAway(one) || ill.includes(one))
      .map((shape) => [shape.id, { shape, hindrance: this.#hindranceOf(shape) }] as const);
    for (const one of ill) this.#tellProblem(one);
    this.#away = new Map(away);
    this.#retryAt = Infinity;
    // The listing is repeated later, because a problem may end without a change of the log (a lock of another process,
    // for example).
    if (ill.length > 0) this.#retryLater();
    return new Set(before);
  }

  /** Reports the problem of a workspace, unless the previous listing found the same problem. */
  #tellProblem({ id, path, problem = "" }: WorkspaceShape): void {
    if (this.#away.get(id)?.shape.problem === problem) return;
    const where = path === "" ? "" : ` (${path})`;
    this.#options.onError(
      new ChronicleError("REFUSED", `the workspace ${id}${where} is not watched: ${problem}`, {
        hint: "`chronicle verify` tells more; the server tries again by itself",
        data: { workspace: id },
      }),
    );
  }

  #retryLater(): void {
    this.#retryAt = performance.now() + this.#retryMs;
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
  }

  #isWanted({ id, path, present, archived, problem }: WorkspaceShape): boolean {
    if (path === "" || !present || archived === true || problem !== undefined || !this.#isFree(id)) return false;
    return id !== this.#options.except() && !this.#leases.has(id);
  }

  async #watch(id: string): Promise<void> {
    const { workspaces, onError } = this.#options;
    try {
      const lease = await workspaces.openKey(id);
      this.#leases.set(id, lease);
      this.#retryMs = RETRY_MS;
      // If the workspace is archived or removed, the lease is given back at once. If the folder of the workspace was
      // moved, the lease is kept, and the next `keepUp` replaces it.
      const end = (): void => {
        if (wasMoved(lease.gone.reason)) return;
        lease[Symbol.dispose]();
        if (this.#leases.get(id) !== lease) return;
        this.#leases.delete(id);
        this.#ended.add(id);
      };
      if (lease.gone.aborted) end();
      else lease.gone.addEventListener("abort", end);
    } catch (error) {
      this.#retryLater();
      onError(error);
    }
  }

  #giveBack(id: string): void {
    const lease = this.#leases.get(id);
    this.#leases.delete(id);
    lease?.[Symbol.dispose]();
  }
}

function lastFirst(a: WorkspaceShape, b: WorkspaceShape): number {
  return Date.parse(b.last_event ?? b.created) - Date.parse(a.last_event ?? a.created);
}

interface HostedFolderOptions {
  readonly store: Pick<StoreApi, "home" | "workspaces">;
  readonly disk: Disk;
  readonly workspaces: OpenWorkspaces;
  readonly folder: string;
}

/** The workspace of the folder in which the server was started, while that workspace is not open. */
interface Lost {
  readonly id: string;
  /**
   * The mark of the workspace's log (`logMark`) when the workspace was found archived or removed. `HostedFolder` does
   * not open the workspace while the log has this mark. If absent, the workspace was not found archived or removed.
   */
  readonly mark?: string;
  /** The earliest time at which the workspace is opened again (from `performance.now`). */
  readonly notBefore: number;
}

/** The folder in which a server was started. Its workspace stays open and watched as long as the server runs. */
export class HostedFolder {
  readonly #options: HostedFolderOptions;
  #lease: Lease | undefined;
  #lost: Lost | undefined;
  #working: Promise<void> | undefined;

  constructor(options: HostedFolderOptions) {
    this.#options = options;
  }

  get workspace(): WorkspaceApi | undefined {
    return this.#lease?.workspace;
  }

  /**
   * Opens the workspace of the folder, and begins its history if there is none. Rejects if the workspace cannot be
   * opened.
   */
  async open(): Promise<WorkspaceApi> {
    const { workspaces, folder } = this.#options;
    const lease = await workspaces.openFolder(folder, true);
    this.#keep(lease);
    return lease.workspace;
  }

  /**
   * Replaces the lease if the workspace was reopened, because its settings have changed or its folder was moved. Opens
   * the workspace again if it was closed, unless it is archived or removed. Rejects if the workspace cannot be opened;
   * a later call then tries again.
   */
  keepUp(): Promise<void> {
    this.#working ??= this.#work().finally(() => (this.#working = undefined));
    return this.#working;
  }

  close(): void {
    this.#lost = undefined;
    this.#letGo();
  }

  async #work(): Promise<void> {
    const { workspaces } = this.#options;
    const before = this.#lease;
    if (before !== undefined && !workspaces.isCurrent(before.workspace)) {
      this.#lost = { id: before.workspace.id, notBefore: 0 };
      this.#letGo();
    }
    const lost = this.#lost;
    if (lost === undefined || performance.now() < lost.notBefore || workspaces.isBeingGivenUp(lost.id)) return;
    await this.#openAgain(lost);
  }

  async #openAgain(lost: Lost): Promise<void> {
    const { id } = lost;
    const { store, disk, workspaces } = this.#options;
    const mark = logMark({ disk, home: store.home }, id);
    if (mark === lost.mark) return;
    // `#lost` keeps the old mark until the workspace is open. If one of the following steps fails, a later call tries
    // again.
    this.#lost = { ...lost, notBefore: performance.now() + REOPEN_MS };
    const found = (await store.workspaces()).find((one) => one.id === id);
    if (found === undefined || found.archived === true) {
      this.#settle({ id, mark, notBefore: 0 });
      return;
    }
    // If the workspace was opened while it was archived, its folder is not followed. The workspace is therefore closed
    // and opened again.
    if (lost.mark !== undefined) workspaces.letGo(id);
    const lease = await workspaces.openKey(id);
    // `close` was called while the workspace was being opened.
    if (this.#lost === undefined) lease[Symbol.dispose]();
    else this.#keep(lease);
  }

  #settle(lost: Lost): void {
    if (this.#lost !== undefined) this.#lost = lost;
  }

  #letGo(): void {
    const lease = this.#lease;
    this.#lease = undefined;
    lease?.[Symbol.dispose]();
  }

  #keep(lease: Lease): void {
    this.#lease = lease;
    this.#lost = undefined;
    // If the workspace is archived or removed, the lease is given back at once. If the folder of the workspace was
    // moved, the lease is kept, and the next `keepUp` replaces it.
    const end = (): void => {
      if (wasMoved(lease.gone.reason)) return;
      lease[Symbol.dispose]();
      if (this.#lease !== lease) return;
      this.#lease = undefined;
      this.#lost = { id: lease.workspace.id, notBefore: 0 };
    };
    if (lease.gone.aborted) end();
    else lease.gone.addEventListener("abort", end);
  }
}

interface StorePlace {
  readonly disk: Disk;
  readonly home: string;
}

/** Returns the stat of a workspace's log; `undefined` if the history has not begun or was removed. */
function logOf({ disk, home }: StorePlace, id: string): FileStat | undefined {
  const stat = disk.lstat(join(home, "workspaces", id, "events.wal"));
  return stat === undefined || stat.size === 0 ? undefined : stat;
}

/** Returns a mark of a workspace's log. The mark changes with each event, and when the history is begun or removed. */
function logMark(place: StorePlace, id: string): string {
  const stat = logOf(place, id);
  return stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeNs}`;
}

/** The minimum time between two attempts to open the workspace of the folder again, in milliseconds. */
const REOPEN_MS = 5_000;
