import type { OpenByIdOptions, OpenOptions, StoreApi, StoreOptions } from "../../api/store-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { findAround } from "../../open.ts";
import type { NeedsClient } from "../../process/needs-client.ts";
import type { Lease, OpenWorkspaces } from "../../server/callers/open-workspaces.ts";
import { optional } from "../../util/optional.ts";

export interface LeasedStoreParts {
  /** The store of this process. */
  readonly store: StoreApi;
  readonly workspaces: OpenWorkspaces;
  /** The options with which the command opens the store. */
  readonly options: StoreOptions;
  /**
   * Throws `NeedsClient` if one of the owners (see `WorkspaceApi.owners`) is an ancestor of the command's process, or
   * if the ancestors cannot be determined.
   */
  readonly refuseWithin: (owners: readonly number[]) => void;
  /** Remembers that the client must do the command itself. Returns the error to throw. */
  readonly needs: (reason: string) => NeedsClient;
  readonly onError: (error: unknown) => void;
}

/**
 * The store of a command that the long-lived process carries out. It lists all workspaces, but gives access only to
 * those that the process has open already. For everything else, it throws `NeedsClient`, so that the client carries out
 * the command itself. If a command asks for a workspace that is not open, that workspace is opened in the background
 * for later commands.
 */
export class LeasedStore implements StoreApi {
  readonly #parts: LeasedStoreParts;
  readonly #leases: Lease[] = [];

  constructor(parts: LeasedStoreParts) {
    this.#parts = parts;
  }

  get home(): string {
    return this.#parts.store.home;
  }

  async open(options: OpenOptions): Promise<WorkspaceApi> {
    const id = await findAround(this.#parts.store, options.folder);
    if (id === undefined) throw this.#parts.needs("no workspace is known for the folder");
    return this.#leased(id, options);
  }

  openById(id: string, options: OpenByIdOptions = {}): Promise<WorkspaceApi> {
    return this.#leased(id, options);
  }

  workspaces(): ReturnType<StoreApi["workspaces"]> {
    return this.#parts.store.workspaces();
  }

  init(): Promise<never> {
    return this.#needsClient();
  }

  create(): Promise<never> {
    return this.#needsClient();
  }

  archive(): Promise<never> {
    return this.#needsClient();
  }

  forget(): Promise<never> {
    return this.#needsClient();
  }

  marks(): Promise<never> {
    return this.#needsClient();
  }

  mark(): Promise<never> {
    return this.#needsClient();
  }

  gc(): Promise<never> {
    return this.#needsClient();
  }

  du(): Promise<never> {
    return this.#needsClient();
  }

  doctor(): Promise<never> {
    return this.#needsClient();
  }

  /** Gives up the leases, which keep workspaces open for this command. The process's store stays open. */
  async close(): Promise<void> {
    for (const lease of this.#leases.splice(0)) lease[Symbol.dispose]();
    await Promise.resolve();
  }

  async #leased(key: string, { role, client }: Pick<OpenOptions, "role" | "client">): Promise<WorkspaceApi> {
    const { workspaces, options, refuseWithin } = this.#parts;
    if (!workspaces.isOpen(key)) {
      this.#prepare(key);
      throw this.#parts.needs("the workspace is not open yet");
    }
    // The settings may just have changed. After `lookAgain`, `openKey` checks the settings, and reopens the workspace
    // if they have changed.
    workspaces.lookAgain(workspaces.idOf(key));
    const lease = await workspaces.openKey(key);
    this.#leases.push(lease);
    refuseWithin((await lease.workspace.owners?.()) ?? []);
    // Only a command in the client's own process reports an unsigned history and the remedy.
    if ((await lease.workspace.signing()).state === "unsigned") throw this.#parts.needs("the history is not signed");
    return lease.workspace.as(optional({ role: role ?? options.role, actor: options.actor, client }));
  }

  #prepare(key: string): void {
    this.#parts.workspaces
      .openKey(key)
      .then((lease) => lease[Symbol.dispose]())
      // The user gets the same error from the client, which opens the workspace itself.
      .catch((error: unknown) => this.#parts.onError(error));
  }

  #needsClient(): Promise<never> {
    return Promise.reject(this.#parts.needs("it is about the whole store"));
  }
}
