import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { openStore } from "../../src/open.ts";
import type { StoreApi } from "../../src/api/store-api.ts";
import { HostedFolder, WatchedFolders } from "../../src/daemon/watched-folders.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { OpenWorkspaces } from "../../src/server/callers/open-workspaces.ts";
import { Project } from "../helpers/project.ts";
import { OPERATOR, Serving } from "./serving.ts";

/** What people edit is recorded in every folder of the store, not only in the one that a server was started in. */

async function begin(store: StoreApi, base: string, name: string): Promise<string> {
  const folder = join(base, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "a"), "1");
  const { workspace } = await store.init({ roots: [folder] });
  await workspace.close();
  return workspace.id;
}

/** Returns those workspaces in which an edit is recorded. Looks by another store, so that nobody asks the server. */
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

  it("the folder of a workspace that is begun by another store, which can then be forgotten", async () => {
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

  it("no more folders than its limit: the one that was used last", async () => {
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

it("the first answer about a folder that is not watched shows its present files", async () => {
  const { serving, ids, names, edit } = await three({ watchMost: 0 });
  await using _ = serving;
  for (const [i, name] of names.entries()) {
    edit(name);
    const all = await Promise.all([1, 2, 3].map(() => serving.read(ids[i] ?? "", "a")));
    expect(all.map(({ text }) => text)).toEqual([1, 2, 3].map(() => `edited ${name}`));
  }
});

it("the history of an archived folder can be read at once, and leaves nothing in the diagnostics", async () => {
  const { serving, ids } = await three({ watchMost: 0 });
  await using _ = serving;
  const [id = ""] = ids;
  await serving.store.archive(id);
  expect(await serving.read(id, "a")).toMatchObject({ status: 200, text: "1" });
  expect(serving.diagnostics()).toBe("");
});

describe("a folder that a server watches", () => {
  const soon = { timeout: 15_000, interval: 100 };
  const archive = (serving: Serving, id: string, archived: boolean) =>
    serving.send(`/v1/workspaces/${id}/archive`, { archived });

  async function hosting(): Promise<{ readonly serving: Serving; readonly id: string }> {
    const serving = await Serving.start({
      folder: true,
      before: async (store, base) => begin(store, base, "project").then(() => undefined),
    });
    const me = await serving.ask("/v1/me");
    return { serving, id: me.json<{ default_workspace: string }>().default_workspace };
  }

  it("stays the default workspace when it is unarchived without having been archived", async () => {
    const { serving, id } = await hosting();
    await using _ = serving;
    expect((await archive(serving, id, false)).status).toBe(200);
    expect((await serving.ask("/v1/me")).json()).toMatchObject({ default_workspace: id });
  });

  it("is watched again once it is unarchived, whether the server was started in it or not", async () => {
    const { serving, id } = await hosting();
    await using _ = serving;
    const other = await begin(serving.store, serving.base, "other");
    await vi.waitFor(
      async () => expect((await serving.ask("/metrics")).text).toMatch(/^chronicle_open_workspaces 2$/m),
      soon,
    );
    for (const one of [id, other]) expect((await archive(serving, one, true)).status).toBe(200);
    expect((await serving.ask("/v1/me")).json()).toMatchObject({ default_workspace: null });
    // A read in between opens the workspace.
    for (const one of [id, other]) expect((await serving.read(one, "a")).text).toBe("1");
    for (const one of [id, other]) expect((await archive(serving, one, false)).status).toBe(200);
    for (const name of ["project", "other"]) writeFileSync(join(serving.base, name, "a"), "edited");
    await vi.waitFor(async () => expect(await recordedIn(serving, [id, other])).toEqual([id, other]), soon);
    expect((await serving.ask("/v1/me")).json()).toMatchObject({ default_workspace: id });
  });

  it("is watched again after a removal that was refused", async () => {
    const { serving, id } = await hosting();
    await using _ = serving;
    const upload = connect(serving.port, "127.0.0.1");
    upload.write(
      `PUT /v1/workspaces/${id}/files/slow HTTP/1.1\r\nHost: 127.0.0.1:${serving.port}\r\nAuthorization: Bearer ${OPERATOR}\r\nContent-Length: 9\r\n\r\nx`,
    );
    await new Promise((done) => setTimeout(done, 500));
    const refused = await serving.ask(`/v1/workspaces/${id}`, { method: "DELETE" });
    expect(refused.json()).toMatchObject({ code: "LOCKED" });
    upload.destroy();
    writeFileSync(join(serving.base, "project", "a"), "edited");
    await vi.waitFor(async () => expect(await recordedIn(serving, [id])).toEqual([id]), soon);
    expect((await serving.ask("/v1/me")).json()).toMatchObject({ default_workspace: id });
  });

  it("is watched once it is there, although it was not there when the server looked first", async () => {
    const ids: string[] = [];
    await using serving = await Serving.start({
      before: async (store, base) => {
        ids.push(await begin(store, base, "away"), await begin(store, base, "here"));
        renameSync(join(base, "away"), join(base, "elsewhere"));
      },
    });
    await vi.waitFor(
      async () => expect((await serving.ask("/metrics")).text).toMatch(/^chronicle_open_workspaces 1$/m),
      soon,
    );
    renameSync(join(serving.base, "elsewhere"), join(serving.base, "away"));
    writeFileSync(join(serving.base, "away", "a"), "edited");
    const [away = ""] = ids;
    await vi.waitFor(async () => expect(await recordedIn(serving, [away])).toEqual([away]), soon);
  });

  it("is watched once its log is sound again that was damaged at the first list", async () => {
    const ids: string[] = [];
    const logAt = (base: string): string => join(base, "store", "workspaces", ids[0] ?? "", "events.wal");
    await using serving = await Serving.start({
      before: async (store, base) => {
        ids.push(await begin(store, base, "damaged"), await begin(store, base, "sound"));
        renameSync(logAt(base), join(base, "log"));
        const lines = readFileSync(join(base, "log"), "latin1");
        writeFileSync(logAt(base), lines.replaceAll('"op":"upsert"', '"op":"upsurt"'), "latin1");
        rmSync(join(base, "store", "cache"), { recursive: true, force: true });
      },
    });
    await vi.waitFor(
      async () => expect((await serving.ask("/metrics")).text).toMatch(/^chronicle_open_workspaces 1$/m),
      soon,
    );
    const [damaged = ""] = ids;
    await vi.waitFor(() => expect(serving.diagnostics()).toContain(damaged), soon);
    renameSync(join(serving.base, "log"), logAt(serving.base));
    writeFileSync(join(serving.base, "damaged", "a"), "edited");
    await vi.waitFor(async () => expect(await recordedIn(serving, [damaged])).toEqual([damaged]), soon);
  });
});

it("a workspace that was listed with a problem is watched when the problem has passed", async () => {
  await using project = new Project();
  project.write("a", "1");
  const store = await project.store();
  const id = await begin(store, project.base, "other");
  const workspaces = new OpenWorkspaces(store, { isThere: () => true, now: () => Date.now() });
  let problem: string | undefined = "another process is at work in it";
  const listed = async () => {
    const all = await store.workspaces();
    return all.map((one) => (problem === undefined ? one : { ...one, problem }));
  };
  const told: unknown[] = [];
  const watched = new WatchedFolders({
    ...{ disk: new NodeDisk(), workspaces, most: 10, except: () => undefined },
    store: { home: store.home, workspaces: listed },
    onError: (error) => told.push(error),
  });
  let later = 0;
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + later);
  try {
    for (let round = 0; round < 3; round += 1, later += 20_000) await watched.keepUp();
    expect([workspaces.size, told]).toMatchObject([0, [{ message: expect.stringContaining(id) as string }]]);
    problem = undefined;
    later += 60_000;
    await watched.keepUp();
    expect(workspaces.size).toBe(1);
  } finally {
    clock.mockRestore();
    await watched.close();
    await workspaces.close();
  }
});

describe("a store that could not be listed once", () => {
  async function failing() {
    const project = new Project();
    const store = await project.store();
    const id = await begin(store, project.base, "other");
    const workspaces = new OpenWorkspaces(store, { isThere: () => true, now: () => Date.now() });
    const failures: Error[] = [];
    const listed = async () => {
      const failure = failures.pop();
      if (failure !== undefined) throw failure;
      return store.workspaces();
    };
    let later = 0;
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + later);
    return {
      ...{ project, store, id, workspaces, failures },
      listing: { home: store.home, workspaces: listed },
      wait: (ms: number) => (later += ms),
      [Symbol.asyncDispose]: async () => {
        clock.mockRestore();
        await workspaces.close();
        await project[Symbol.asyncDispose]();
      },
    };
  }

  it("is listed again: a workspace that could not be opened before is watched", async () => {
    await using all = await failing();
    const told: unknown[] = [];
    let opens = 0;
    const openKey = all.workspaces.openKey.bind(all.workspaces);
    all.workspaces.openKey = async (key) => {
      if ((opens += 1) === 1) throw new Error("cannot be opened");
      return openKey(key);
    };
    const watched = new WatchedFolders({
      ...{ store: all.listing, disk: new NodeDisk(), workspaces: all.workspaces, most: 10, except: () => undefined },
      onError: (error) => told.push((error as Error).message),
    });
    await watched.keepUp();
    all.failures.push(new Error("cannot be listed"));
    all.wait(60_000);
    await watched.keepUp();
    await watched.keepUp();
    expect([all.workspaces.size, told]).toEqual([0, ["cannot be opened", "cannot be listed"]]);
    all.wait(2_000);
    await watched.keepUp();
    expect([all.workspaces.size, opens]).toEqual([1, 2]);
    await watched.close();
  });

  it("is not listed again at once", async () => {
    await using all = await failing();
    const told: unknown[] = [];
    const watched = new WatchedFolders({
      ...{ store: all.listing, disk: new NodeDisk(), workspaces: all.workspaces, most: 10, except: () => undefined },
      onError: (error) => told.push(error),
    });
    for (let i = 0; i < 3; i += 1) all.failures.push(new Error("cannot be listed"));
    await watched.keepUp();
    await watched.keepUp();
    expect(told).toHaveLength(1);
    await watched.close();
  });

  it("does not prevent that a server's folder is followed which somebody has read while it was archived", async () => {
    await using all = await failing();
    const { store, id, workspaces, project } = all;
    const folder = join(project.base, "other");
    const hosted = new HostedFolder({ store: all.listing, disk: new NodeDisk(), workspaces, folder });
    await hosted.open();
    await workspaces.giveUp(id, () => store.archive(id));
    await hosted.keepUp();
    using readAlone = await workspaces.openKey(id);
    await store.archive(id, false);
    all.failures.push(new Error("cannot be listed"));
    await expect(hosted.keepUp()).rejects.toThrow("cannot be listed");
    all.wait(6_000);
    await hosted.keepUp();
    expect(hosted.workspace?.id).toBe(id);
    expect(hosted.workspace).not.toBe(readAlone.workspace);
    hosted.close();
  });
});
