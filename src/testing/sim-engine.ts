import { openContext, type OpenedContext } from "../compose/open-context.ts";
import { openParts } from "../compose/open-parts.ts";
import { storeTasks } from "../compose/store-tasks.ts";
import type { SimDisk } from "./sim-disk/sim-disk.ts";
import type { Context } from "../engine/log/context.ts";
import { simBackends, type SimMachineOptions } from "./sim-store.ts";

/** The engine of one workspace on a simulated disk, without its surface. */
export class SimEngine implements AsyncDisposable {
  readonly #opened: OpenedContext;
  readonly #end: () => Promise<void>;

  private constructor(opened: OpenedContext, end: () => Promise<void>) {
    this.#opened = opened;
    this.#end = end;
  }

  /** Opens a workspace made by a store on this disk (`openSimStore`). */
  static async open(disk: SimDisk, workspaceId: string, options: SimMachineOptions): Promise<SimEngine> {
    const home = { home: "/store", configFolder: "/config", userHome: "/root", waitMs: 50 };
    const parts = await openParts(home, simBackends(disk, options));
    const opened = await openContext(parts, workspaceId, { tasks: storeTasks(parts, workspaceId) });
    return new SimEngine(opened, () => parts.blobs.close());
  }

  get context(): Context {
    return this.#opened.context;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.close();
    await this.#end();
  }
}
