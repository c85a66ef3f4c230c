import { setTimeout as sleep } from "node:timers/promises";
import { type ChronicleClient, createClient } from "../../src/client/node.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import type { BenchServer } from "./bench-server.ts";

/** As in `ui/src/data`: the lines that the page reads again, and what it asks without a change, in milliseconds. */
const NEWEST = 60;
const SAME_AFTER = 64;
const LINK_MS = 4_000;
const WORKSPACES_MS = 10_000;
const RECORDING_MS = 15_000;

/**
 * Asks a server what an open timeline of the page asks it (`ui/src/data/live.ts`, `queries.ts` and
 * `ui/src/timeline/use-ticks.ts`), without drawing anything.
 */
export class PageReader implements AsyncDisposable {
  /** The number of requests since the reader was made, without the stream. */
  requests = 0;
  readonly #client: ChronicleClient;
  readonly #on: WorkspaceApi;
  readonly #ending = new AbortController();
  readonly #work: Promise<unknown>;
  #lines = 0;
  #ticks = 0;

  constructor({ url, token }: BenchServer, workspace: string) {
    this.#client = createClient({ url, token });
    this.#on = this.#client.workspace(workspace);
    this.#work = Promise.all([
      this.#follow(),
      this.#every(LINK_MS, () => this.#client.me()),
      this.#every(WORKSPACES_MS, () => this.#client.store.workspaces()),
      this.#every(RECORDING_MS, () => this.#on.recording()),
    ]);
  }

  async #follow(): Promise<void> {
    for await (const { seq, after: from, records, ticks } of this.#on.followHead({ signal: this.#ending.signal })) {
      const after = this.#lines === 0 ? {} : { after: Math.floor(this.#lines / SAME_AFTER) * SAME_AFTER };
      await Promise.all([
        this.#ask(async () => (this.#lines = (await this.#on.recent(NEWEST, { ...after, atLeast: seq })).seq)),
        ...(ticks === null || this.#ticks < from ? [this.#ask(() => this.#readTicks())] : []),
        ...(records === null || records.includes("session") ? [this.#ask(() => this.#on.sessions())] : []),
        ...(records === null || records.includes("conflict") ? [this.#ask(() => this.#on.conflicts())] : []),
      ]);
      this.#ticks = Math.max(this.#ticks, seq);
    }
  }

  async #readTicks(): Promise<void> {
    const asked = this.#ticks === 0 ? { limit: 2_000, reverse: true } : { after: this.#ticks, limit: 20_000 };
    this.#ticks = (await this.#on.ticks(asked)).head;
  }

  async #every(ms: number, ask: () => Promise<unknown>): Promise<void> {
    const { signal } = this.#ending;
    // Pages are not opened at the same time.
    for (let wait = Math.random() * ms; !signal.aborted; wait = ms) {
      await sleep(wait, undefined, { signal }).then(
        () => this.#ask(ask),
        () => undefined,
      );
    }
  }

  async #ask<T>(ask: () => Promise<T>): Promise<T> {
    this.requests += 1;
    return ask();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#work;
    await this.#client.close();
  }
}
