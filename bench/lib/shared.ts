import type { StoreProcess } from "./store-process.ts";
import type { Kept } from "./tool.ts";

/**
 * What the benches of one run prepare once, and use one after the other. The functions of `prepared.ts` fill the maps.
 * Disposal ends the processes.
 */
export class Shared implements AsyncDisposable {
  /** Copies of the corpus, by corpus and use. */
  readonly trees = new Map<string, string>();
  /** Recorded trees, by corpus, tool and use. */
  readonly kept = new Map<string, Kept>();
  /** The process of a store, by corpus. */
  readonly processes = new Map<string, StoreProcess>();

  /** Ends the processes, so that they do not run beside a bench that does not ask them. */
  async endProcesses(): Promise<void> {
    const ending = [...this.processes.values()];
    this.processes.clear();
    for (const process of ending) await process[Symbol.asyncDispose]();
  }

  /** Ends the processes and forgets everything, so that later benches prepare it again. */
  async forget(): Promise<void> {
    this.trees.clear();
    this.kept.clear();
    await this.endProcesses();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.endProcesses();
  }
}
