import type { StoreApi } from "../api/store-api.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";

interface Held {
  readonly workspace: WorkspaceApi;
  /** As it was when it was opened: see `settingsOf`. */
  readonly settings: string;
  /** When it was last handed out, epoch milliseconds. */
  used: number;
}

export interface OpenWorkspacesOptions {
  /** Is this workspace in the store still? It may have been forgotten by another process. */
  readonly isThere: (id: string) => boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /**
   * What a workspace takes over when it is opened (what is tracked, how much is kept), in any form: where that has changed
   * meanwhile, it is opened anew.
   */
  readonly settingsOf?: (workspace: WorkspaceApi) => Promise<string>;
  /** Called for each that has been opened, to keep it warm. */
  readonly onOpen?: (workspace: WorkspaceApi) => Promise<void>;
}

/** Keeps the workspaces of a store open between requests, each once. As an agent's connection: it cannot prune. */
export class OpenWorkspaces {
  readonly #store: StoreApi;
  readonly #options: OpenWorkspacesOptions;
  readonly #held = new Map<string, Held>();
  /** With other settings than those in force now; whoever has one still may finish with it. */
  #outdated: Held[] = [];
  #last: Promise<unknown> = Promise.resolve();

  constructor(store: StoreApi, options: OpenWorkspacesOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** The nearest workspace around a folder; `create` begins one there. Throws `NOT_FOUND`. */
  async open(folder: string, create: boolean): Promise<WorkspaceApi> {
    // Its own folder: nobody can have begun a nearer one.
    const known = this.#known(folder);
    if (known !== undefined && (await this.#isInForce(known))) return known.workspace;
    return this.#inTurn(() => this.#openAnew(folder, create));
  }

  /** Closes those that were not used for so long. Resolves to how many are open still. */
  closeIdle(idleMs: number): Promise<number> {
    return this.#inTurn(async () => {
      const oldest = this.#options.now() - idleMs;
      for (const [id, held] of this.#held) if (held.used < oldest) await this.#drop(id, held);
      const over = this.#outdated.filter((held) => held.used < oldest);
      this.#outdated = this.#outdated.filter((held) => held.used >= oldest);
      for (const { workspace } of over) await workspace.close();
      return this.#held.size;
    });
  }

  close(): Promise<void> {
    return this.#inTurn(async () => {
      for (const [id, held] of this.#held) await this.#drop(id, held);
      for (const { workspace } of this.#outdated.splice(0)) await workspace.close();
    });
  }

  #known(folder: string): Held | undefined {
    for (const held of this.#held.values()) {
      if (held.workspace.path !== folder || !this.#options.isThere(held.workspace.id)) continue;
      held.used = this.#options.now();
      return held;
    }
    return undefined;
  }

  async #isInForce({ workspace, settings }: Held): Promise<boolean> {
    return (await this.#settingsOf(workspace)) === settings;
  }

  async #settingsOf(workspace: WorkspaceApi): Promise<string> {
    return (await this.#options.settingsOf?.(workspace)) ?? "";
  }

  async #openAnew(folder: string, create: boolean): Promise<WorkspaceApi> {
    for (const [id, held] of this.#held) if (!this.#options.isThere(id)) await this.#drop(id, held);
    const known = this.#known(folder);
    if (known !== undefined && (await this.#isInForce(known))) return known.workspace;
    const opened = await this.#store.open({ folder, create, role: "agent" });
    const held = this.#held.get(opened.id);
    const settings = await this.#settingsOf(opened);
    if (held?.settings === settings) {
      await opened.close();
      held.used = this.#options.now();
      return held.workspace;
    }
    if (held !== undefined) this.#outdated.push(held);
    this.#held.set(opened.id, { workspace: opened, settings, used: this.#options.now() });
    await this.#options.onOpen?.(opened);
    return opened;
  }

  async #drop(id: string, { workspace }: Held): Promise<void> {
    this.#held.delete(id);
    await workspace.close();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.catch(() => undefined).then(work);
    this.#last = next;
    return next;
  }
}
