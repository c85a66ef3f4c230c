import type { StoreApi } from "../../api/store-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { movedFolder, wasMoved } from "../../core/tree/moved-folder.ts";

/** A workspace in use: it is not closed before it is given back. */
export interface Lease extends Disposable {
  /** As a person has it; `as` makes views of it for others. */
  readonly workspace: WorkspaceApi;
  /** The workspace is given up: whoever only follows it ends. Where its folder was moved (the reason says so), it may be asked for anew. */
  readonly gone: AbortSignal;
}

interface Held {
  readonly workspace: WorkspaceApi;
  /** As it was when it was opened: see `settingsOf`. */
  readonly settings: string;
  readonly gone: AbortController;
  /** Settled when it may be handed out; never rejects. */
  readonly ready: Promise<void>;
  /** When it was last handed out, epoch milliseconds. */
  used: number;
  /** When its settings were last looked at, epoch milliseconds. */
  looked: number;
  leases: number;
  /** Nobody gets it any more; the last who has it closes it. */
  dropped: boolean;
  closing?: Promise<void>;
}

export interface OpenWorkspacesOptions {
  /** Is this workspace in the store still? It may have been forgotten by another process. */
  readonly isThere: (id: string) => boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /**
   * Returns the settings that a workspace reads when it is opened (what is tracked, how much is kept), in any form: if
   * they differ later, it is reopened.
   */
  readonly settingsOf?: (workspace: WorkspaceApi) => Promise<string>;
  /** Called for each that has been opened; nobody gets it before this is done. What it throws goes to `onError`. */
  readonly onOpen?: (workspace: WorkspaceApi) => Promise<void>;
  /** Largest number of open workspaces, apart from those in use. Default 256. */
  readonly most?: number;
  /** Takes what went wrong where nobody waits for it. */
  readonly onError?: (error: unknown) => void;
}

const MOST = 256;
/** For those that are asked for by id, settings are looked at so often at most, in milliseconds. */
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
  /** Ids by the names that workspaces were asked for by. */
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
    // Its own folder: nobody can have begun a nearer one.
    const known = this.#inFolder(folder);
    if (known !== undefined && (await this.#isInForce(known, 0))) return this.#handOut(known);
    return this.#handOut(await this.#inTurn(() => this.#openFolder(folder, create)));
  }

  /** As `openFolder`, as an agent has it, for a process that ends soon: it is never given back. */
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

  /** Would whoever asks for it now get this very one? Else it was given up, or opened anew with other settings. */
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

  /** Its folder was moved, as the error says: the next who asks for it gets it opened anew. */
  giveUpMoved(workspace: WorkspaceApi, error: unknown): void {
    const held = this.#held.get(workspace.id);
    if (held?.workspace !== workspace) return;
    held.gone.abort(error);
    this.#drop(held, held.leases === 0);
  }

  /**
   * Gives a workspace up for a work that removes its history. Throws `LOCKED` if it stays in use. Where the work fails, whoever
   * kept the workspace open may open it again once `isBeingGivenUp` is over.
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

  /** Gives a workspace up that others may still have open: who follows it ends, the last who works with it closes it. */
  letGo(id: string): void {
    for (const [name, of] of this.#ids) if (of === id) this.#ids.delete(name);
    const held = this.#held.get(id);
    if (held === undefined) return;
    held.gone.abort();
    this.#drop(held, held.leases === 0);
  }

  /** Gives a workspace up, since its history is about to be removed or changed by others. Throws `LOCKED` if it stays in use. */
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

  /** Closes those that were not used for so long. Resolves to how many are open still. */
  async closeIdle(idleMs: number): Promise<number> {
    const oldest = this.#options.now() - idleMs;
    const idle = [...this.#held.values()].filter((held) => held.leases === 0 && held.used < oldest);
    for (const held of idle) if (held.leases === 0) this.#drop(held);
    await Promise.all(idle.map(closed));
    return this.#held.size;
  }

  /** Closes all of them; whoever uses one still has lost it. */
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

  /** It is not closed while somebody waits for it. */
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
    // While this waits it must not be closed.
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

  /** The folder is among them: of one that was moved, the handle of the old place is not kept. */
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

  /** Takes what was opened, unless it is held already as it is now. */
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

  /** Closes those that were used longest ago, beyond the most. */
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
