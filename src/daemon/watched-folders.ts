import { join } from "node:path";
import type { Disk, FileStat } from "../disk/disk.ts";
import type { StoreApi } from "../api/store-api.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import { wasMoved } from "../core/tree/moved-folder.ts";
import type { Lease, OpenWorkspaces } from "../server/callers/open-workspaces.ts";
import type { WorkspaceShape } from "../api/shapes.ts";
import { ChronicleError } from "../core/values/errors.ts";

/** Shortest interval between two listings of the store, in milliseconds. */
const LIST_MS = 1_000;

/** Listing may take at most this part of the time (one in 20): a program may begin thousands of workspaces. */
const BUSY_FACTOR = 20;

/**
 * Longer than a tick of any file system's clock, in milliseconds: a folder that was changed this recently may change
 * again unnoticed.
 */
const TICK_MS = 2_000;

/**
 * A workspace that the store's list lacks is looked for again until its log has been unchanged for this long, in
 * milliseconds.
 */
const NEW_MS = 60_000;

/** Interval at which a folder that could not be watched is checked again, in milliseconds. */
const AWAY_MS = 5_000;

/** A workspace that could not be opened, or was listed with a problem, is retried after this time, in milliseconds. */
const RETRY_MS = 30_000;

/** Longest time between retries when they keep failing, in milliseconds. */
const LONGEST_RETRY_MS = 600_000;

interface WatchedFoldersOptions {
  readonly store: Pick<StoreApi, "home" | "workspaces">;
  readonly disk: Disk;
  /** Opens workspaces, and watches each one it opens. */
  readonly workspaces: OpenWorkspaces;
  readonly most: number;
  /** Returns the id of a workspace that is watched otherwise. */
  readonly except: () => string | undefined;
  readonly onError: (error: unknown) => void;
  /** Called once, with the number of watched folders, and the number beyond the limit. */
  readonly onChosen?: (watched: number, left: number) => void;
}

/**
 * The workspaces with a folder that a server watches as long as it runs: the most recently used workspaces, up to a
 * limit. New workspaces are noticed by their folder in the store, without listing all workspaces each time.
 */
export class WatchedFolders {
  readonly #options: WatchedFoldersOptions;
  readonly #leases = new Map<string, Lease>();
  /** Ids of workspaces that need not be listed again: the list has nothing new about them. */
  #listed: ReadonlySet<string> = new Set();
  #ids: readonly string[] = [];
  /** Workspaces whose folder cannot be watched, with the reason: see `#hindranceOf`. */
  #away: ReadonlyMap<string, { readonly shape: WorkspaceShape; readonly hindrance: string }> = new Map();
  #lookAtAwayAt = 0;
  /** Ids of workspaces that were given up: the next listing says whether they are to be watched again. */
  readonly #ended = new Set<string>();
  /** Time of the next try to open workspaces that could not be opened, by `performance.now`. */
  #retryAt = Infinity;
  #retryMs = RETRY_MS;
  #mark: string | undefined;
  #listAgainAt = 0;
  #working: Promise<void> | undefined;
  #isChosen = false;
  #isClosed = false;

  constructor(options: WatchedFoldersOptions) {
    this.#options = options;
  }

  /**
   * Watches new workspaces, and reopens those that others have reopened. Never rejects. A call during another call
   * waits for that call.
   */
  keepUp(): Promise<void> {
    this.#working ??= this.#work().finally(() => (this.#working = undefined));
    return this.#working;
  }

  /** Retries workspaces that could not be opened at the next `keepUp`. */
  lookAgain(): void {
    this.#listed = new Set();
    this.#mark = undefined;
    this.#listAgainAt = 0;
  }

  /** Gives all leases back. */
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
   * True if a workspace with a history may be new, or may be watched again. A workspace's folder exists before its log.
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

  /** True if a workspace that was given up, or could not be watched, may be watched now. */
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
   * Returns a text that stays the same as long as a workspace cannot be watched for the same reason: its log is
   * damaged, it is archived, or its folder is missing.
   */
  #hindranceOf({ id, path, archived, problem }: WorkspaceShape): string {
    const { disk, store } = this.#options;
    if (archived === true || problem !== undefined) return logMark({ disk, home: store.home }, id);
    const folder = disk.lstat(path);
    return folder === undefined ? "" : `${folder.dev} ${folder.ino}`;
  }

  /**
   * Returns the time of the log's last write in epoch milliseconds; `undefined` if the history has not begun, or was
   * removed.
   */
  #logOf(id: string): number | undefined {
    const { disk, store } = this.#options;
    const stat = logOf({ disk, home: store.home }, id);
    return stat === undefined ? undefined : Number(stat.mtimeNs / 1_000_000n);
  }

  async #list(): Promise<void> {
    const { store, most, onChosen } = this.#options;
    const began = performance.now();
    const old = this.#ids.filter((id) => Date.now() - (this.#logOf(id) ?? Infinity) > NEW_MS);
    this.#retryAt = Infinity;
    const ended = [...this.#ended].filter((id) => this.#isFree(id));
    const all = await store.workspaces();
    for (const id of ended) this.#ended.delete(id);
    const wanted = all.filter((one) => this.#isWanted(one)).toSorted(lastFirst);
    this.#listed = new Set([...old, ...all.map(({ id }) => id)]);
    const readAlone = this.#noteAway(all);
    this.#listAgainAt = performance.now() + Math.max(LIST_MS, (performance.now() - began) * BUSY_FACTOR);
    const chosen = wanted.slice(0, Math.max(0, most - this.#leases.size));
    if (!this.#isChosen) onChosen?.(chosen.length, wanted.length - chosen.length);
    this.#isChosen = true;
    for (const { id } of chosen) {
      if (this.#isClosed) return;
      // The workspace may have been opened for reading while it was archived, and so without following the folder.
      if (readAlone.has(id)) this.#options.workspaces.letGo(id);
      await this.#watch(id);
    }
  }

  /** Notes why workspaces cannot be watched. Returns the ids of those that were archived at the last listing. */
  #noteAway(all: readonly WorkspaceShape[]): ReadonlySet<string> {
    const before = [...this.#away].filter(([, { shape }]) => shape.archived === true).map(([id]) => id);
    const ill = all.filter(({ id, problem }) => problem !== undefined && !this.#leases.has(id));
    for (const one of ill) this.#tellProblem(one);
    // A problem may pass without a trace in the log, such as a lock held by another process.
    if (ill.length > 0) this.#retryLater();
    const isAway = ({ path, present, archived }: WorkspaceShape): boolean =>
      path !== "" && (!present || archived === true);
    const away = all.filter((one) => isAway(one) || ill.includes(one));
    this.#away = new Map(away.map((shape) => [shape.id, { shape, hindrance: this.#hindranceOf(shape) }]));
    return new Set(before);
  }

  /** Reports a workspace's problem, unless the last listing found the same one. */
  #tellProblem({ id, path, problem = "" }: WorkspaceShape): void {
    if (this.#away.get(id)?.shape.problem === problem) return;
    const where = path === "" ? "" : ` (${path})`;
    this.#options.onError(
      new ChronicleError("REFUSED", `the workspace ${id}${where} is not watched: ${problem}`, {
        hint: "`chronicle verify` says more; it is tried again by itself",
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
      // When the workspace is archived or removed, the lease is given back at once. A workspace whose folder was moved
      // is reopened by the next `keepUp`.
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
  /** Opens workspaces, and watches each one it opens. */
  readonly workspaces: OpenWorkspaces;
  readonly folder: string;
}

/** A lost workspace that is to be opened again. */
interface Lost {
  readonly id: string;
  /** The mark of its log when it was found archived or removed: it is not opened until the mark changes. */
  readonly mark?: string;
  /** The earliest moment to open it, by `performance.now`. */
  readonly notBefore: number;
}

/** The folder that a server was started in: its workspace stays open, and watched, for as long as the server lives. */
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

  /** Opens the folder, and begins its history if there is none. Throws the reason if it cannot. */
  async open(): Promise<WorkspaceApi> {
    const { workspaces, folder } = this.#options;
    const lease = await workspaces.openFolder(folder, true);
    this.#keep(lease);
    return lease.workspace;
  }

  /**
   * Keeps up with other openings. If the workspace was reopened meanwhile, with other settings or because its folder
   * was moved, replaces the lease held so far. If it was given up, opens it again, unless it is archived or removed by
   * now. Throws the reason if it cannot, and tries again later.
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
    this.#lost = { id, notBefore: performance.now() + REOPEN_MS };
    const found = (await store.workspaces()).find((one) => one.id === id);
    if (found === undefined || found.archived === true) {
      this.#settle({ id, mark, notBefore: 0 });
      return;
    }
    // The workspace may have been opened for reading while it was archived, and so without following the folder.
    if (lost.mark !== undefined) workspaces.letGo(id);
    const lease = await workspaces.openKey(id);
    // The server was closed meanwhile.
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
    // When the workspace is archived or removed, the lease is given back at once. A workspace whose folder was moved
    // is reopened by the next `keepUp`.
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

/** Returns a workspace's log; `undefined` if its history has not begun, or was removed. */
function logOf({ disk, home }: StorePlace, id: string): FileStat | undefined {
  const stat = disk.lstat(join(home, "workspaces", id, "events.wal"));
  return stat === undefined || stat.size === 0 ? undefined : stat;
}

/** Returns a mark that changes with each event of a workspace, and when its history is removed or begun. */
function logMark(place: StorePlace, id: string): string {
  const stat = logOf(place, id);
  return stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeNs}`;
}

/** A folder that could not be opened again is retried after this time, in milliseconds. */
const REOPEN_MS = 5_000;
