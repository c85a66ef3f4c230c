import type { WorkspaceApi } from "../../api/workspace-api.ts";
import type { Lease, OpenWorkspaces } from "../../server/open-workspaces.ts";

/** The folder that a server was started in: its workspace stays open, and watched, for as long as the server lives. */
export class HostedFolder {
  readonly #workspaces: OpenWorkspaces;
  readonly #folder: string;
  #lease: Lease | undefined;

  constructor(workspaces: OpenWorkspaces, folder: string) {
    this.#workspaces = workspaces;
    this.#folder = folder;
  }

  get workspace(): WorkspaceApi | undefined {
    return this.#lease?.workspace;
  }

  /** Opens it; its history is begun where there is none. Throws what stands in the way. */
  async open(): Promise<WorkspaceApi> {
    const lease = await this.#workspaces.openFolder(this.#folder, true);
    this.#keep(lease);
    return lease.workspace;
  }

  /** What was opened anew meanwhile, with other settings, is kept in place of what it was before. */
  async keepUp(): Promise<void> {
    const before = this.#lease;
    if (before === undefined || this.#workspaces.isCurrent(before.workspace)) return;
    this.close();
    this.#keep(await this.#workspaces.openFolder(this.#folder, false));
  }

  close(): void {
    const lease = this.#lease;
    this.#lease = undefined;
    lease?.[Symbol.dispose]();
  }

  #keep(lease: Lease): void {
    this.#lease = lease;
    // Somebody archives or removes it: it is not kept from them.
    lease.gone.addEventListener("abort", () => {
      lease[Symbol.dispose]();
      if (this.#lease === lease) this.#lease = undefined;
    });
  }
}
