import type { StoreApi } from "../../api/store-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { greatestOf } from "../../util/long-lists.ts";
import { movedFolder, wasMoved } from "../../core/tree/moved-folder.ts";

/**
 * The right to use an open workspace. The workspace stays open until the lease is disposed of, or until
 * `OpenWorkspaces.close`.
 */
export interface Lease extends Disposable {
  /** The workspace with a person's rights. `as` returns a view with other rights. */
  readonly workspace: WorkspaceApi;
  /**
   * Aborts when the holder of the lease must stop using the workspace, so that streams of events end. If the signal's
   * reason says that the folder was moved, the workspace can be opened again.
   */
  readonly gone: AbortSignal;
}

interface Held {
  readonly workspace: WorkspaceApi;
  /** The settings (see `settingsOf`) as they were when the workspace was opened. */
  readonly settings: string;
  readonly gone: AbortController;
  /** Resolves when `onOpen` has ended. Never rejects. */
  readonly ready: Promise<void>;
  /** True once `ready` has resolved. */
  isReady: boolean;
  /** The time, in epoch milliseconds, at which a lease was last given or returned. */
  used: number;
  /**
   * The time, in epoch milliseconds, at which the settings were last checked. It is 0 if the next request must check
   * them.
   */
  looked: number;
  leases: number;
  /** True if no more leases may be given. The workspace is closed when its last lease is returned. */
  dropped: boolean;
  closing?: Promise<void>;
}

export interface OpenWorkspacesOptions {
  /** False if another process has removed the workspace from the store. */
  readonly isThere: (id: string) => boolean;
  /** In epoch milliseconds. */
  readonly now: () => number;
  /**
   * Resolves to a text with those settings of a workspace that are read only when it is opened, such as the tracked
   * paths and the retention. A workspace whose text has changed is reopened.
   */
  readonly settingsOf?: (workspace: WorkspaceApi) => Promise<string>;
  /** Called for each opened workspace, before its first lease is given. Its errors go to `onError`. */
  readonly onOpen?: (workspace: WorkspaceApi) => Promise<void>;
  /** Above this number of open workspaces, unused ones are closed. Default 256. */
  readonly most?: number;
  readonly onError?: (error: unknown) => void;
}

const MOST = 256;
/** The minimum time between two checks of a workspace's settings in `openKey`, in milliseconds. */
const LOOK_MS = 1_000;
/** Only workspaces that were not used for this time, in milliseconds, are closed to make room for others. */
const JUST_USED_MS = 1_000;
/** The maximum time for which `release` waits for leases to be returned, in milliseconds. */
const RELEASE_MS = 5_000;

/** Keeps the workspaces of a store open between requests. Each workspace is open at most once. */
export class OpenWorkspaces {
  readonly #store: StoreApi;
  readonly #options: OpenWorkspacesOptions;
  readonly #held = new Map<string, Held>();
  /** Maps the name under which a workspace was opened to the workspace's id. */
  readonly #ids = new Map<string, string>();
  readonly #opening = new Map<string, Promise<Held>>();
  /** Maps a workspace's id to the number of calls of `giveUp` that are in progress. */
  readonly #givingUp = new Map<string, number>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(store: StoreApi, options: OpenWorkspacesOptions) {
    this.#store = store;
    this.#options = options;
  }

  get size(): number {
    return this.#held.size;
  }

  /**
   * Opens the nearest workspace whose folder is or encloses `folder`. If there is no such workspace, begins a workspace
   * in `folder` (with `create`) or throws `NOT_FOUND` (without).
   */
  async openFolder(folder: string, create: boolean): Promise<Lease> {
    // An open workspace with exactly this folder is the nearest one.
    const known = this.#inFolder(folder);
    if (known !== undefined && (await this.#isInForce(known, 0))) return this.#handOut(known);
    return this.#handOut(await this.#inTurn(() => this.#openFolder(folder, create)));
  }

  /**
   * Like `openFolder`, with an agent's rights. This method is only for short-lived processes, because the lease is
   * never returned.
   */
  async open(folder: string, create: boolean): Promise<WorkspaceApi> {
    return (await this.openFolder(folder, create)).workspace.as({ role: "agent" });
  }

  /** Opens the workspace `key` (a whole id or an exact name). Throws `NOT_FOUND` if there is none. */
  async openKey(key: string): Promise<Lease> {
    const known = this.#held.get(this.#ids.get(key) ?? key);
    if (known !== undefined && this.#isUsable(known) && (await this.#isInForce(known, LOOK_MS))) {
      return this.#handOut(known);
    }
    return this.#handOut(await this.#openKey(key));
  }

  /** True if the workspace `key` (as for `openKey`) is open and ready, so that `openKey` need not open it. */
  isOpen(key: string): boolean {
    const held = this.#held.get(this.idOf(key));
    return held?.isReady === true && this.#isUsable(held);
  }

  /**
   * True if this object still stands for its open workspace. False if the workspace was closed or reopened after this
   * object was returned.
   */
  isCurrent(workspace: WorkspaceApi): boolean {
    return this.#held.get(workspace.id)?.workspace === workspace;
  }

  /** Returns the id of the workspace that was opened under the name `key`, or else `key`. */
  idOf(key: string): string {
    return this.#ids.get(key) ?? key;
  }

  /** Makes the next request check the workspace's settings, because they may have changed. */
  lookAgain(id: string): void {
    const held = this.#held.get(id);
    if (held !== undefined) held.looked = 0;
  }

  /**
   * Called when the workspace's folder was moved. Gives no more leases, and ends the streams of events with `error`.
   * The next request reopens the workspace.
   */
  giveUpMoved(workspace: WorkspaceApi, error: unknown): void {
    const held = this.#held.get(workspace.id);
    if (held?.workspace !== workspace) return;
    held.gone.abort(error);
    this.#drop(held, held.leases === 0);
  }

  /**
   * Closes a workspace and then runs `work`, which removes its history. Throws `LOCKED` if the workspace stays in use.
   * `isBeingGivenUp` is true until `work` has ended.
   */
  async giveUp<T>(id: string, work: () => Promise<T>): Promise<T> {
    this.#givingUp.set(id, (this.#givingUp.get(id) ?? 0) + 1);
    try {
      await this.release(id);
      return await work();
    } finally {
      const left = (this.#givingUp.get(id) ?? 1) - 1;
      if (left === 0) this.#givingUp.delete(id);
      else this.#givingUp.set(id, left);
    }
  }

  /**
   * True during `giveUp` of this workspace. During this time, code that keeps workspaces open outside of requests must
   * not reopen the workspace.
   */
  isBeingGivenUp(id: string): boolean {
    return this.#givingUp.has(id);
  }

  /**
   * Gives no more leases of the open workspace, and ends the streams of its events. The workspace is closed when its
   * last lease is returned.
   */
  letGo(id: string): void {
    for (const [name, of] of this.#ids) if (of === id) this.#ids.delete(name);
    const held = this.#held.get(id);
    if (held === undefined) return;
    held.gone.abort();
    this.#drop(held, held.leases === 0);
  }

  /**
   * Like `letGo`, but waits until the workspace is closed. Called before the workspace's history is removed or
   * replaced. Throws `LOCKED` if the workspace stays in use for longer than `RELEASE_MS`.
   */
  async release(id: string): Promise<void> {
    const held = this.#held.get(id);
    this.letGo(id);
    if (held === undefined) return;
    for (let waited = 0; held.leases > 0; waited += 20) {
      if (waited > RELEASE_MS) throw new ChronicleError("LOCKED", "this workspace is in use", { hint: "try again" });
      await new Promise((done) => setTimeout(done, 20));
    }
    await closed(held);
  }

  /** Closes the workspaces that were not used for `idleMs`. Returns the number of workspaces that are still open. */
  async closeIdle(idleMs: number): Promise<number> {
    const oldest = this.#options.now() - idleMs;
    const idle = [...this.#held.values()].filter((held) => held.leases === 0 && held.used < oldest);
    for (const held of idle) if (held.leases === 0) this.#drop(held);
    await Promise.all(idle.map(closed));
    return this.#held.size;
  }

  /**
   * Closes the least recently used workspace that is not in use. Never closes the most recently used workspace of all.
   * Returns true if a workspace was closed.
   */
  async closeOldest(): Promise<boolean> {
    const last = greatestOf([...this.#held.values()].map(({ used }) => used));
    const [oldest] = this.#unused().filter(({ used }) => used < last);
    if (oldest === undefined) return false;
    this.#drop(oldest);
    await closed(oldest);
    return true;
  }

  /** Closes all workspaces, even those in use. If some cannot be closed, throws the first error after all are done. */
  close(): Promise<void> {
    return this.#inTurn(async () => {
      const all = [...this.#held.values()];
      this.#held.clear();
      const failures: unknown[] = [];
      for (const held of all) {
        held.gone.abort();
        held.dropped = true;
        await closed(held).catch((error: unknown) => failures.push(error));
      }
      if (failures.length > 0) throw failures[0];
    });
  }

  /** Takes a lease at once, so that the workspace stays open. Resolves to the lease when `onOpen` has ended. */
  async #handOut(held: Held): Promise<Lease> {
    const lease = this.#lease(held);
    await held.ready;
    return lease;
  }

  #lease(held: Held): Lease {
    held.leases += 1;
    held.used = this.#options.now();
    this.#shed();
    let isBack = false;
    const giveBack = (): void => {
      if (isBack) return;
      isBack = true;
      held.leases -= 1;
      held.used = this.#options.now();
      if (held.dropped && held.leases === 0) this.#closeLater(held);
    };
    return { workspace: held.workspace, gone: held.gone.signal, [Symbol.dispose]: giveBack };
  }

  #isUsable({ workspace, dropped }: Held): boolean {
    return !dropped && this.#options.isThere(workspace.id);
  }

  #inFolder(folder: string): Held | undefined {
    for (const held of this.#held.values()) if (held.workspace.path === folder && this.#isUsable(held)) return held;
    return undefined;
  }

  /** True if the workspace's settings have not changed, or were checked less than `withinMs` ago. */
  async #isInForce(held: Held, withinMs: number): Promise<boolean> {
    const now = this.#options.now();
    if (now - held.looked < withinMs) return true;
    held.looked = now;
    // Keep the workspace open while the settings are read.
    held.leases += 1;
    try {
      return (await this.#settingsOf(held.workspace)) === held.settings && !held.dropped;
    } catch (error) {
      if (wasMoved(error)) return false;
      throw error;
    } finally {
      held.leases -= 1;
      if (held.dropped && held.leases === 0) this.#closeLater(held);
    }
  }

  /**
   * Returns the folder and the text of the option `settingsOf`. A workspace whose folder was moved must be reopened as
   * well.
   */
  async #settingsOf(workspace: WorkspaceApi): Promise<string> {
    return `${workspace.path}\n${(await this.#options.settingsOf?.(workspace)) ?? ""}`;
  }

  async #openFolder(folder: string, create: boolean): Promise<Held> {
    for (const held of this.#held.values()) if (!this.#isUsable(held)) this.#drop(held, held.leases === 0);
    const known = this.#inFolder(folder);
    if (known !== undefined && (await this.#isInForce(known, 0))) return known;
    return this.#keep(await this.#store.open({ folder, create }));
  }

  #openKey(key: string): Promise<Held> {
    const going = this.#opening.get(key);
    if (going !== undefined) return going;
    const opening = this.#openAnew(key).finally(() => this.#opening.delete(key));
    this.#opening.set(key, opening);
    return opening;
  }

  async #openAnew(key: string): Promise<Held> {
    this.#ids.delete(key);
    const opened = await this.#store.openById(key, { exact: true });
    const held = await this.#keep(opened);
    if (key !== opened.id) this.#ids.set(key, opened.id);
    return held;
  }

  /**
   * Keeps a workspace that was just opened. If the workspace was already open with the same settings, closes the new
   * object and returns the old one.
   */
  async #keep(opened: WorkspaceApi): Promise<Held> {
    const settings = await this.#settingsOf(opened);
    const known = this.#held.get(opened.id);
    if (known !== undefined && known.settings === settings && this.#isUsable(known)) {
      await opened.close();
      return known;
    }
    if (known !== undefined) this.#replace(known, opened);
    const now = this.#options.now();
    const gone = new AbortController();
    const ready = this.#notifyOpened(opened);
    const times = { used: now, looked: now };
    const held: Held = {
      workspace: opened,
      settings,
      gone,
      ready,
      isReady: false,
      ...times,
      leases: 0,
      dropped: false,
    };
    void ready.then(() => (held.isReady = true));
    this.#held.set(opened.id, held);
    return held;
  }

  /**
   * Gives no more leases of the old object. Existing leases stay usable. If the folder was moved, the streams of events
   * end.
   */
  #replace(known: Held, { path }: WorkspaceApi): void {
    if (known.workspace.path !== path) known.gone.abort(movedFolder(known.workspace.path, path));
    this.#drop(known, known.leases === 0);
  }

  async #notifyOpened(opened: WorkspaceApi): Promise<void> {
    try {
      await this.#options.onOpen?.(opened);
    } catch (error) {
      this.#options.onError?.(error);
    }
  }

  /** Closes unused workspaces above the limit, the least recently used ones first. */
  #shed(): void {
    const over = this.#held.size - (this.#options.most ?? MOST);
    if (over <= 0) return;
    for (const held of this.#unused().slice(0, over)) this.#drop(held, true);
  }

  /** Returns the workspaces that nobody has used for a moment, the least recently used ones first. */
  #unused(): readonly Held[] {
    const before = this.#options.now() - JUST_USED_MS;
    return [...this.#held.values()]
      .filter(({ leases, used }) => leases === 0 && used < before)
      .toSorted((a, b) => a.used - b.used);
  }

  #drop(held: Held, close = false): void {
    if (this.#held.get(held.workspace.id) === held) this.#held.delete(held.workspace.id);
    held.dropped = true;
    if (close) this.#closeLater(held);
  }

  #closeLater(held: Held): void {
    closed(held).catch((error: unknown) => this.#options.onError?.(error));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.catch(() => undefined).then(work);
    this.#last = next;
    return next;
  }
}

function closed(held: Held): Promise<void> {
  held.closing ??= held.workspace.close();
  return held.closing;
}
