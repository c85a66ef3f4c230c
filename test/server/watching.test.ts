import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { openStore } from "../../src/open.ts";
import type { StoreApi } from "../../src/api/store-api.ts";
import { Serving } from "./serving.ts";

/** What people edit is recorded in every folder of the store, not only in the one that a server was started in. */

async function begin(store: StoreApi, base: string, name: string): Promise<string> {
  const folder = join(base, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "a"), "1");
  const { workspace } = await store.init({ roots: [folder] });
  await workspace.close();
  return workspace.id;
}

/** The folders in which an edit comes to be recorded, without anybody asking the server; looked at from outside. */
async function recordedIn(serving: Serving, ids: readonly string[]): Promise<string[]> {
  const store = await openStore({ home: serving.store.home, configFolder: join(serving.base, "config") });
  const found: string[] = [];
  for (const id of ids) {
    const workspace = await store.openById(id, { readOnly: true });
    if ((await workspace.history("a")).length > 1) found.push(id);
    await workspace.close();
  }
  await store.close();
  return found;
}

async function three(options: { readonly watchMost?: number } = {}) {
  const ids: string[] = [];
  const names = ["one", "two", "three"];
  const before = async (store: StoreApi, base: string): Promise<void> => {
    for (const name of names) ids.push(await begin(store, base, name));
  };
  const serving = await Serving.start({ before, ...options });
  const edit = (name: string): void => writeFileSync(join(serving.base, name, "a"), `edited ${name}`);
  return { serving, ids, names, edit };
}

describe("a server watches", () => {
  it("every folder of its store, without being asked about it", async () => {
    const { serving, ids, names, edit } = await three();
    await using _ = serving;
    for (const name of names) edit(name);
    await vi.waitFor(async () => expect(await recordedIn(serving, ids)).toEqual(ids), {
      timeout: 8_000,
      interval: 100,
    });
  });

  it("the folder of a workspace that is begun beside it, and lets go of one that is forgotten", async () => {
    await using serving = await Serving.start();
    const store = await openStore({ home: serving.store.home, configFolder: join(serving.base, "config") });
    await serving.ask("/v1/workspaces");
    const id = await begin(store, serving.base, "late");
    await vi.waitFor(
      async () => expect((await serving.ask("/metrics")).text).toMatch(/^chronicle_open_workspaces 1$/m),
      {
        timeout: 8_000,
        interval: 100,
      },
    );
    writeFileSync(join(serving.base, "late", "a"), "edited late");
    await vi.waitFor(async () => expect(await recordedIn(serving, [id])).toEqual([id]), {
      timeout: 8_000,
      interval: 100,
    });
    const gone = await serving.ask(`/v1/workspaces/${id}`, { method: "DELETE" });
    expect(gone.status).toBeLessThan(300);
    await store.close();
  });

  it("no more than it is told to: the one that was used last", async () => {
    const { serving, ids, names, edit } = await three({ watchMost: 1 });
    await using _ = serving;
    for (const name of names) edit(name);
    const last = ids.slice(-1);
    await vi.waitFor(async () => expect(await recordedIn(serving, ids)).toEqual(last), {
      timeout: 8_000,
      interval: 100,
    });
    await new Promise((done) => setTimeout(done, 300));
    expect(await recordedIn(serving, ids)).toEqual(last);
  });
});

it("the first answer about a folder that was not watched shows what is there", async () => {
  const { serving, ids, names, edit } = await three({ watchMost: 0 });
  await using _ = serving;
  for (const [i, name] of names.entries()) {
    edit(name);
    const all = await Promise.all([1, 2, 3].map(() => serving.read(ids[i] ?? "", "a")));
    expect(all.map(({ text }) => text)).toEqual([1, 2, 3].map(() => `edited ${name}`));
  }
});

it("the history of an archived folder can be read at once, and is nothing to complain about", async () => {
  const { serving, ids } = await three({ watchMost: 0 });
  await using _ = serving;
  const [id = ""] = ids;
  await serving.store.archive(id);
  expect(await serving.read(id, "a")).toMatchObject({ status: 200, text: "1" });
  expect(serving.diagnostics()).toBe("");
});
