import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { StoreApi } from "../../src/api/store-api.ts";
import { LazyWorkspace } from "../../src/mcp/lazy-workspace.ts";
import { openStore } from "../../src/open.ts";
import { Serving } from "../server/serving.ts";

/**
 * A folder is moved while a process has its workspace open. A command at the new place records the move, and another
 * project takes the old place.
 */
class Moved implements AsyncDisposable {
  readonly base: string;
  readonly store: StoreApi;
  readonly old: string;
  readonly now: string;

  private constructor(base: string, store: StoreApi) {
    this.base = base;
    this.store = store;
    this.old = join(base, "project");
    this.now = join(base, "moved");
  }

  static async begin(): Promise<Moved> {
    const base = mkdtempSync(join(tmpdir(), "chronicle-moved-"));
    const made = new Moved(base, await other(base));
    begun(made.old);
    return made;
  }

  /** Moves the folder. The project that takes its place has no file of the first one. */
  async move(): Promise<void> {
    await moveBeside(this.base, this.old, this.now);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close();
    rmSync(this.base, { recursive: true, force: true });
  }
}

function begun(folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "a.txt"), "of the first\n");
}

function other(base: string): Promise<StoreApi> {
  return openStore({ home: join(base, "store"), configFolder: join(base, "config") });
}

async function moveBeside(base: string, old: string, now: string): Promise<void> {
  renameSync(old, now);
  const beside = await other(base);
  await (await beside.open({ folder: now })).close();
  await beside.close();
  mkdirSync(old);
  writeFileSync(join(old, "b.txt"), "of the second\n");
}

describe("Truth: a workspace that was opened before its folder was moved", () => {
  it("neither reads nor writes at the old place, and says where its folder is", async () => {
    await using made = await Moved.begin();
    const { workspace } = await made.store.init({ roots: [made.old] });
    writeFileSync(join(made.old, "a.txt"), "edited\n");
    await workspace.snapshot();
    await made.move();
    const seq = (await workspace.head()).seq;
    const refused = { code: "NOT_FOUND", message: expect.stringContaining(made.now) };
    for (const work of [
      () => workspace.snapshot(),
      () => workspace.status(),
      () => workspace.undo(),
      () => workspace.restore("0"),
      () => workspace.restore("0", { dryRun: true }),
      () => workspace.record(["b.txt"]),
    ]) {
      await expect(work()).rejects.toMatchObject(refused);
    }
    expect(readdirSync(made.old)).toEqual(["b.txt"]);
    expect((await workspace.head()).seq).toBe(seq);
    expect((await workspace.history("a.txt")).length).toBe(2);
    await workspace.close();
    const again = await made.store.open({ folder: made.now });
    expect(await again.status()).toMatchObject({ path: made.now, changes: [] });
    await again.close();
  });

  it("is opened at the new place for the next call of an MCP client", async () => {
    await using made = await Moved.begin();
    await (await made.store.init({ roots: [made.old] })).workspace.close();
    let folder = made.old;
    const lazy = new LazyWorkspace(() => made.store.open({ folder }));
    const first = await lazy.get("client", () => Promise.resolve([]));
    expect(first.path).toBe(made.old);
    await made.move();
    folder = made.now;
    const next = await lazy.get("client", () => Promise.resolve([]));
    expect([next.id, next.path]).toEqual([first.id, made.now]);
    await lazy.close();
  });

  it("is served and watched at the new place", async () => {
    let id = "";
    const before = async (store: StoreApi, base: string): Promise<void> => {
      begun(join(base, "one"));
      const { workspace } = await store.init({ roots: [join(base, "one")] });
      id = workspace.id;
      await workspace.close();
    };
    await using serving = await Serving.start({ before });
    expect((await serving.read(id, "a.txt")).text).toBe("of the first\n");
    const [old, now] = ["one", "two"].map((name) => join(serving.base, name)) as [string, string];
    await moveBeside(serving.base, old, now);
    writeFileSync(join(now, "a.txt"), "edited\n");
    const versions = async (): Promise<number> => {
      const beside = await other(serving.base);
      const workspace = await beside.openById(id, { readOnly: true });
      const { length } = await workspace.history("a.txt");
      await workspace.close();
      await beside.close();
      return length;
    };
    await vi.waitFor(async () => expect(await versions()).toBe(2), { timeout: 12_000, interval: 200 });
    expect((await serving.put(id, "c.txt", "put\n")).status).toBeLessThan(300);
    expect(readFileSync(join(now, "c.txt"), "utf8")).toBe("put\n");
    expect(existsSync(join(old, "c.txt"))).toBe(false);
    expect((await serving.read(id, "b.txt")).status).toBe(404);
  });
});
