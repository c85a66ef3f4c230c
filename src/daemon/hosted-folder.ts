import type { StoreApi } from "../api/store-api.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import { wasMoved } from "../core/tree/moved-folder.ts";
import type { Disk } from "../disk/disk.ts";
import type { Lease, OpenWorkspaces } from "../server/callers/open-workspaces.ts";
import { logMark } from "./log-mark.ts";

/** A folder that could not be opened again is retried after this time, in milliseconds. */
const RETRY_MS = 5_000;

export interface HostedFolderOptions {
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
  /** Not opened before this moment, by `performance.now`. */
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
    this.#lost = { id, notBefore: performance.now() + RETRY_MS };
    const found = (await store.workspaces()).find((one) => one.id === id);
    if (found === undefined || found.archived === true) {
      this.#settle({ id, mark, notBefore: 0 });
      return;
    }
    // It may have been opened for reading while it was archived, and so without following the folder.
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
    // When it is archived or removed, the lease is given back at once. A workspace whose folder was moved is reopened
    // by the next `keepUp`.
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
