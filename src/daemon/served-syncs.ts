import type { SyncRunner } from "../api/sync-api.ts";
import type { Disk } from "../disk/disk.ts";
import { hasReplicas } from "./has-replicas.ts";

export interface ServedSyncsOptions {
  readonly disk: Disk;
  /** The store's folder. */
  readonly home: string;
  /** Loads the code that runs syncs; a process without syncs never does. */
  readonly load: () => Promise<SyncRunner>;
  readonly onError: (error: unknown) => void;
}

/** The syncs that the store's process runs. Their code is loaded if there are any, or on first use. */
export class ServedSyncs {
  readonly #options: ServedSyncsOptions;
  #running: Promise<SyncRunner> | undefined;
  #runner: SyncRunner | undefined;
  #isClosed = false;

  constructor(options: ServedSyncsOptions) {
    this.#options = options;
  }

  /** Number of syncs that are not stopped; while there are any, the process stays. */
  get active(): number {
    return this.#runner?.active ?? 0;
  }

  /** Continues the syncs that ran when their process ended. Never rejects. */
  async takeUp(): Promise<void> {
    const { disk, home, onError } = this.#options;
    try {
      if (!this.#isClosed && hasReplicas(disk, home)) await this.get();
    } catch (error) {
      onError(error);
    }
  }

  get(): Promise<SyncRunner> {
    if (this.#running !== undefined) return this.#running;
    const running = this.#load();
    this.#running = running;
    // A failure may pass, so the next call loads again.
    running.catch(() => {
      if (this.#running === running) this.#running = undefined;
    });
    return running;
  }

  async #load(): Promise<SyncRunner> {
    const runner = await this.#options.load();
    this.#runner = runner;
    await runner.takeUp();
    return runner;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    // If loading failed, there is nothing to close.
    await this.#running?.catch(() => undefined);
    await this.#runner?.close();
  }
}
