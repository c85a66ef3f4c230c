import type { StoreApi } from "../api/store-api.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";

interface Held {
  readonly workspace: WorkspaceApi;
  /** When it was last handed out, epoch milliseconds. */
  used: number;
}

export interface OpenWorkspacesOptions {
  /** Is this workspace in the store still? It may have been forgotten by another process. */
  readonly isThere: (id: string) => boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Called for each that has been opened, to keep it warm. */
  readonly onOpen?: (workspace: WorkspaceApi) => Promise<void>;
}

/** Keeps the workspaces of a store open between requests, each once. As an agent's connection: it cannot prune. */
export class OpenWorkspaces {
  readonly #store: StoreApi;
  readonly #options: OpenWorkspacesOptions;
  readonly #held = new Map<string, Held>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(store: StoreApi, options: OpenWorkspacesOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** The nearest workspace around a folder; `create` begins one there. Throws `NOT_FOUND`. */
  open(folder: string, create: boolean): Promise<WorkspaceApi> {
    // Its own folder: nobody can have begun a nearer one.
    const known = this.#known(folder);
    if (known !== undefined) return Promise.resolve(known);
    return this.#inTurn(() => this.#openAnew(folder, create));
  }

  /** Closes those that were not used for so long. Resolves to how many are open still. */
  closeIdle(idleMs: number): Promise<number> {
    return this.#inTurn(async () => {
      const oldest = this.#options.now() - idleMs;
      for (const [id, held] of this.#held) if (held.used < oldest) await this.#drop(id, held);
      return this.#held.size;
    });
  }

  close(): Promise<void> {
    return this.#inTurn(async () => {
      for (const [id, held] of this.#held) await this.#drop(id, held);
    });
  }

  #known(folder: string): WorkspaceApi | undefined {
    for (const held of this.#held.values()) {
      const { workspace } = held;
      if (workspace.path !== folder || !this.#options.isThere(workspace.id)) continue;
      held.used = this.#options.now();
      return workspace;
    }
    return undefined;
  }

  async #openAnew(folder: string, create: boolean): Promise<WorkspaceApi> {
    for (const [id, held] of this.#held) if (!this.#options.isThere(id)) await this.#drop(id, held);
    const known = this.#known(folder);
    if (known !== undefined) return known;
    const opened = await this.#store.open({ folder, create, role: "agent" });
    const held = this.#held.get(opened.id);
    if (held !== undefined) {
      await opened.close();
      held.used = this.#options.now();
      return held.workspace;
    }
    this.#held.set(opened.id, { workspace: opened, used: this.#options.now() });
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
