import type { StoreApi } from "../../api/store-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { movedFolder, wasMoved } from "../../core/tree/moved-folder.ts";

/** A workspace in use: it is not closed before the lease is disposed of. */
export interface Lease extends Disposable {
  /** The workspace with a person's rights; `as` makes views of it for others. */
  readonly workspace: WorkspaceApi;
  /**
   * Aborted when the workspace is given up: streams of events end then. If its folder was moved (see the reason), it
   * may be opened again.
   */
  readonly gone: AbortSignal;
}

interface Held {
  readonly workspace: WorkspaceApi;
  /** The settings when it was opened: see `settingsOf`. */
  readonly settings: string;
  readonly gone: AbortController;
  /** Settled when it may be handed out; never rejects. */
  readonly ready: Promise<void>;
  /** Time of the last lease, epoch milliseconds. */
  used: number;
  /** Time of the last check of its settings, epoch milliseconds. */
  looked: number;
  leases: number;
  /** True if no more leases are given; the last one closes it. */
  dropped: boolean;
  closing?: Promise<void>;
}

export interface OpenWorkspacesOptions {
  /** True if this workspace is still in the store. Another process may have forgotten it. */
  readonly isThere: (id: string) => boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /**
   * Returns the settings that a workspace reads when it is opened (what is tracked, how much is kept), in any form: if
   * they differ later, it is reopened.
   */
  readonly settingsOf?: (workspace: WorkspaceApi) => Promise<string>;
  /** Called for each opened workspace, before the first lease of it. Its errors go to `onError`. */
  readonly onOpen?: (workspace: WorkspaceApi) => Promise<void>;
  /** Largest number of open workspaces, apart from those in use. Default 256. */
  readonly most?: number;
  /** Takes errors that no caller awaits. */
  readonly onError?: (error: unknown) => void;
}

const MOST = 256;
/** Settings of workspaces opened by id are checked at most this often, in milliseconds. */
const LOOK_MS = 1_000;
/** A workspace just opened is in use within this time, in milliseconds. */
const JUST_OPENED_MS = 1_000;
/** `release` waits this long for those who use a workspace, in milliseconds. */
const RELEASE_MS = 5_000;

/** Keeps the workspaces of a store open between requests, each once; those in use are never closed. */
export class OpenWorkspaces {
  readonly #store: StoreApi;
  readonly #options: OpenWorkspacesOptions;
  readonly #held = new Map<string, Held>();
  /** Ids by the names that were asked for. */
  readonly #ids = new Map<string, string>();
  readonly #opening = new Map<string, Promise<Held>>();
  /** Number of calls that are giving up a workspace, by its id. */
  readonly #givingUp = new Map<string, number>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(store: StoreApi, options: OpenWorkspacesOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** Number of open workspaces. */
  get size(): number {
    return this.#held.size;
  }

  /** The nearest workspace around a folder; `create` begins one there. Throws `NOT_FOUND`. */
  async openFolder(folder: string, create: boolean): Promise<Lease> {
    // This folder itself has a workspace, so there cannot be a nearer one.
    const known = this.#inFolder(folder);
    if (known !== undefined && (await this.#isInForce(known, 0))) return this.#handOut(known);
    return this.#handOut(await this.#inTurn(() => this.#openFolder(folder, create)));
  }

  /** Like `openFolder`, but with an agent's rights, for a process that ends soon: it is never given back. */
  async open(folder: string, create: boolean): Promise<WorkspaceApi> {
    return (await this.openFolder(folder, create)).workspace.as({ role: "agent" });
  }

  /** The workspace with this whole id or exact name. Throws `NOT_FOUND`. */
  async openKey(key: string): Promise<Lease> {
    const known = this.#held.get(this.#ids.get(key) ?? key);
    if (known !== undefined && this.#isUsable(known) && (await this.#isInForce(known, LOOK_MS))) {
      return this.#handOut(known);
    }
    return this.#handOut(await this.#openKey(key));
  }

  /** True if this very instance is the current one. Else it was given up, or reopened with other settings. */
  isCurrent(workspace: WorkspaceApi): boolean {
    return this.#held.get(workspace.id)?.workspace === workspace;
  }

  /** The id behind a name, if it was asked for by that name before. */
  idOf(key: string): string {
    return this.#ids.get(key) ?? key;
  }

  /** Notes that a workspace's settings were just changed: the next request for it gets it with the new ones. */
  lookAgain(id: string): void {
    const held = this.#held.get(id);
    if (held !== undefined) held.looked = 0;
  }

  /** Notes that its folder was moved, as the error says: the next request for it reopens it. */
  giveUpMoved(workspace: WorkspaceApi, error: unknown): void {
    const held = this.#held.get(workspace.id);
    if (held?.workspace !== workspace) return;
    held.gone.abort(error);
    this.#drop(held, held.leases === 0);
  }

  /**
   * Gives a workspace up while `work` removes its history. Throws `LOCKED` if it stays in use. If `work` fails, code
   * that kept the workspace open may reopen it once `isBeingGivenUp` is false.
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

  /** Whether it is not to be opened again now by those who only keep it open. */
  isBeingGivenUp(id: string): boolean {
    return this.#givingUp.has(id);
  }

  /** Gives a workspace up that others may still use: streams of its events end, and the last lease closes it. */
  letGo(id: string): void {
    for (const [name, of] of this.#ids) if (of === id) this.#ids.delete(name);
    const held = this.#held.get(id);
    if (held === undefined) return;
    held.gone.abort();
    this.#drop(held, held.leases === 0);
  }

  /**
   * Gives a workspace up because others are about to remove or change its history. Throws `LOCKED` if it stays in use.
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

  /** Closes workspaces that were unused for this long. Resolves to the number still open. */
  async closeIdle(idleMs: number): Promise<number> {
    const oldest = this.#options.now() - idleMs;
    const idle = [...this.#held.values()].filter((held) => held.leases === 0 && held.used < oldest);
    for (const held of idle) if (held.leases === 0) this.#drop(held);
    await Promise.all(idle.map(closed));
    return this.#held.size;
  }

  /** Closes all workspaces, even those in use. */
  close(): Promise<void> {
    return this.#inTurn(async () => {
      const all = [...this.#held.values()];
      this.#held.clear();
      for (const held of all) {
        held.gone.abort();
        held.dropped = true;
        await closed(held);
      }
    });
  }

  /** A workspace with waiting callers is not closed. */
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

  async #isInForce(held: Held, looksLastMs: number): Promise<boolean> {
    const now = this.#options.now();
    if (now - held.looked < looksLastMs) return true;
    held.looked = now;
    // It must not be closed during this wait.
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

  /** The settings include the folder: after a move, the old place must not stay open. */
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

  /** Takes an opened workspace, unless the same one is already held with the same settings. */
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
    const ready = this.#made(opened);
    const held: Held = { workspace: opened, settings, gone, ready, used: now, looked: now, leases: 0, dropped: false };
    this.#held.set(opened.id, held);
    return held;
  }

  /** Replaces a workspace. Requests that use the old one may finish, unless its folder was moved. */
  #replace(known: Held, { path }: WorkspaceApi): void {
    if (known.workspace.path !== path) known.gone.abort(movedFolder(known.workspace.path, path));
    this.#drop(known, known.leases === 0);
  }

  async #made(opened: WorkspaceApi): Promise<void> {
    try {
      await this.#options.onOpen?.(opened);
    } catch (error) {
      this.#options.onError?.(error);
    }
  }

  /** Closes the least recently used workspaces beyond the limit. */
  #shed(): void {
    const over = this.#held.size - (this.#options.most ?? MOST);
    if (over <= 0) return;
    const before = this.#options.now() - JUST_OPENED_MS;
    const free = [...this.#held.values()]
      .filter(({ leases, used }) => leases === 0 && used < before)
      .toSorted((a, b) => a.used - b.used);
    for (const held of free.slice(0, over)) this.#drop(held, true);
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
