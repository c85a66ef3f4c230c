import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { StoreApi, StoreOptions } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { openFileStore } from "../../src/compose/file-store.ts";
import { storeBackends } from "./store-parts.ts";

const MINUTE = 60_000;

/** A folder and a store on the real disk, with a clock that the test sets. */
export class ClockedProject implements AsyncDisposable {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-clock-")));
  readonly folder = join(this.base, "project");
  readonly #opened: (StoreApi | WorkspaceApi)[] = [];
  /** The time of the clock, in milliseconds since 1970. */
  now = Date.parse("2030-01-10T12:00:00Z");

  constructor() {
    mkdirSync(this.folder);
  }

  /** Advances the clock. A negative number sets it back. */
  pass(minutes: number): void {
    this.now += minutes * MINUTE;
  }

  write(path: string, content: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), content);
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), "utf8");
  }

  /** Opens the store once more, as another process would. */
  async store(options: Partial<StoreOptions> = {}): Promise<StoreApi> {
    const places = { home: join(this.base, "store"), configFolder: join(this.base, "config"), waitMs: 5_000 };
    const store = await openFileStore({ ...places, ...options }, { ...storeBackends(), now: () => this.now });
    this.#opened.unshift(store);
    return store;
  }

  async init(options: Partial<StoreOptions> = {}): Promise<WorkspaceApi> {
    const { workspace } = await (await this.store(options)).init({ roots: [this.folder] });
    this.#opened.unshift(workspace);
    return workspace;
  }

  async open(options: Partial<StoreOptions> = {}): Promise<WorkspaceApi> {
    const workspace = await (await this.store(options)).open({ folder: this.folder });
    this.#opened.unshift(workspace);
    return workspace;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#opened) await one.close();
    rmSync(this.base, { recursive: true, force: true });
  }
}
