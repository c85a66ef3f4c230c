import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CreateOptions, OpenByIdOptions, StoreApi, StoreOptions } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { openStore } from "../../src/open.ts";

/** A temporary store on the real disk, for workspaces without a folder. Disposal closes everything and removes it. */
export class HostedProject implements AsyncDisposable {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-hosted-")));
  readonly home = join(this.base, "store");
  readonly #stores = new Set<StoreApi>();
  readonly #workspaces = new Set<WorkspaceApi>();

  async store(options: Partial<StoreOptions> = {}): Promise<StoreApi> {
    const store = await openStore({ home: this.home, configFolder: join(this.base, "config"), ...options });
    this.#stores.add(store);
    return store;
  }

  /** Makes a new workspace. The store is opened again for it. */
  async create(options: CreateOptions & { readonly store?: Partial<StoreOptions> } = {}): Promise<WorkspaceApi> {
    const { store, ...rest } = options;
    const { workspace } = await (await this.store(store)).create(rest);
    this.#workspaces.add(workspace);
    return workspace;
  }

  /** Opens a workspace again, as another process would. */
  async open(id: string, options: OpenByIdOptions = {}): Promise<WorkspaceApi> {
    const workspace = await (await this.store()).openById(id, options);
    this.#workspaces.add(workspace);
    return workspace;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const workspace of this.#workspaces) await workspace.close();
    for (const store of this.#stores) await store.close();
    rmSync(this.base, { recursive: true, force: true });
  }
}
