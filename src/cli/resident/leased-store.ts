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
  /** Throws `NeedsClient` if one of these processes has started the command (see `WorkspaceApi.owners`). */
  readonly refuseWithin: (owners: readonly number[]) => void;
  /** Notes that the command needs its client. */
  readonly needs: (reason: string) => NeedsClient;
  readonly onError: (error: unknown) => void;
}

/**
 * The store of a command that the long-lived process carries out. Its workspaces are those that the process has open. A
 * command that needs anything else needs its client. A workspace that is not open is opened in the background for later
 * commands.
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

  gc(): Promise<never> {
    return this.#needsClient();
  }

  du(): Promise<never> {
    return this.#needsClient();
  }

  doctor(): Promise<never> {
    return this.#needsClient();
  }

  /** The store itself stays open. */
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
    // The settings may just have changed. A workspace whose settings have changed is reopened.
    workspaces.lookAgain(workspaces.idOf(key));
    const lease = await workspaces.openKey(key);
    this.#leases.push(lease);
    refuseWithin((await lease.workspace.owners?.()) ?? []);
    // Only a command of its own process says that nothing is signed, and how that ends.
    if ((await lease.workspace.signing()).state === "unsigned") throw this.#parts.needs("the history is not signed");
    return lease.workspace.as(optional({ role: role ?? options.role, actor: options.actor, client }));
  }

  #prepare(key: string): void {
    this.#parts.workspaces
      .openKey(key)
      .then((lease) => lease[Symbol.dispose]())
      // The command itself meets the same error, and reports it.
      .catch((error: unknown) => this.#parts.onError(error));
  }

  #needsClient(): Promise<never> {
    return Promise.reject(this.#parts.needs("it is about the whole store"));
  }
}
