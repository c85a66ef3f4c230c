import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RecordStoreOptions, StandaloneRecordStoreApi } from "../../src/api/record-api.ts";
import { openRecordStore } from "../../src/open.ts";

/** A temporary folder for a record store, on the real disk. Disposal closes and removes everything. */
export class RecordFolder implements AsyncDisposable {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-records-")));
  readonly folder = join(this.base, "deep", "store");
  readonly #open = new Set<StandaloneRecordStoreApi>();

  async store(options: Partial<RecordStoreOptions> = {}): Promise<StandaloneRecordStoreApi> {
    const store = await openRecordStore({ folder: this.folder, waitMs: 5_000, ...options });
    this.#open.add(store);
    return store;
  }

  /**
   * Makes a store, puts `count` records `{n: 1}`, `{n: 2}` … in order, and closes it. `ids`: the id of the n-th record.
   */
  async closed(count: number, ids = (n: number) => `k${n}`): Promise<void> {
    const store = await this.store();
    for (let n = 1; n <= count; n += 1) await store.upsert(ids(n), { n });
    await store.close();
  }

  at(name: string): string {
    return join(this.folder, name);
  }

  has(name: string): boolean {
    return existsSync(this.at(name));
  }

  names(folder: string): string[] {
    return this.has(folder) ? readdirSync(this.at(folder)) : [];
  }

  get log(): string {
    return this.at("events.wal");
  }

  get lines(): string[] {
    return readFileSync(this.log, "utf8").split("\n").slice(0, -1);
  }

  write(name: string, content: string | Uint8Array): void {
    writeFileSync(this.at(name), content);
  }

  /** Removes the files that record the length of the log. */
  forgetBound(): void {
    for (const name of ["head.json", "snapshot.json"]) rmSync(this.at(name), { force: true });
  }

  /** The seq of `snapshot.json`. `undefined` if there is none. */
  get checkpoint(): number | undefined {
    if (!this.has("snapshot.json")) return undefined;
    return (JSON.parse(readFileSync(this.at("snapshot.json"), "utf8")) as { state: { seq: number } }).state.seq;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const store of this.#open) await store.close();
    rmSync(this.base, { recursive: true, force: true });
  }
}

/** Collects all items of an iteration. */
export async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
