import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ReplicaAcceptor } from "../../src/api/replication-api.ts";
import type { StoreApi } from "../../src/api/store-api.ts";
import type { SyncEventShape, SyncRunner } from "../../src/api/sync-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { openReplicaAcceptor, openStore, openSyncs } from "../../src/open.ts";

/** The life of a sync: an origin with a folder, a desk's folder, a real socket between them, and the system's own watcher. */

let base: string;
let stores: StoreApi[];
let origin: WorkspaceApi;
let door: ReplicaAcceptor;
let server: Server;
let syncs: SyncRunner;
const errors: unknown[] = [];

beforeEach(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-walk-")));
  for (const folder of ["origin", "desk"]) mkdirSync(join(base, folder));
  stores = [];
  for (const name of ["a", "b"])
    stores.push(await openStore({ home: join(base, name), configFolder: join(base, `${name}-config`) }));
  const [here, there] = stores as [StoreApi, StoreApi];
  write("origin/a", "1");
  write("origin/d/b", "2");
  ({ workspace: origin } = await here.init({ roots: [join(base, "origin")] }));
  await origin.follow({ record: true });
  door = openReplicaAcceptor(here, (error) => errors.push(error));
  server = createServer((socket) => {
    void door.accept(
      { kind: "socket", socket },
      {
        place: async () => ({
          workspace: origin,
          gone: new AbortController().signal,
          [Symbol.dispose]: () => undefined,
        }),
        presenter: { id: "owner", isOperator: true, replicas: [] },
        readOnly: false,
      },
    );
  }).listen(join(base, "c.sock"));
  syncs = openSyncs(there, (error) => errors.push(error));
});

afterEach(async () => {
  await syncs.close();
  await door.close();
  server.close();
  await origin.close();
  for (const store of stores) await store.close();
  rmSync(base, { recursive: true, force: true });
  assert.deepEqual(errors.splice(0), []);
});

function write(path: string, text: string): void {
  mkdirSync(join(base, path, ".."), { recursive: true });
  writeFileSync(join(base, path), text);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(join(base, path), "utf8");
  } catch {
    return undefined;
  }
}

const until = (isSo: () => unknown): Promise<unknown> =>
  vi.waitFor(() => expect(isSo()).toBe(true), { timeout: 8_000, interval: 5 });

it("an edit in either folder reaches the other, and a conflict is made and settled", async () => {
  const told: SyncEventShape[] = [];
  const ending = new AbortController();
  const following = (async () => {
    for await (const one of syncs.events(undefined, ending.signal)) told.push(one);
  })();
  const { id } = await syncs.start({ upstream: `unix:${join(base, "c.sock")}`, folder: join(base, "desk") });
  await syncs.flush(id);
  expect([read("desk/a"), read("desk/d/b")]).toEqual(["1", "2"]);

  write("desk/a", "from the desk");
  await until(() => read("origin/a") === "from the desk");
  write("origin/d/c", "from the origin");
  await until(() => read("desk/d/c") === "from the origin");
  await origin.putFile("by-api", Buffer.from("x"));
  await until(() => read("desk/by-api") === "x" && read("origin/by-api") === "x");

  // Editors save like this: with a temporary file and a rename.
  write("desk/.a.swp", "swap");
  write("desk/a.tmp~", "saved");
  renameSync(join(base, "desk/a.tmp~"), join(base, "desk/a"));
  await until(() => read("origin/a") === "saved");
  expect([read("origin/.a.swp"), read("origin/a.tmp~")]).toEqual([undefined, undefined]);

  await syncs.pause(id);
  write("desk/a", "mine");
  await origin.putFile("a", Buffer.from("theirs"));
  await syncs.resume(id);
  await syncs.flush(id);
  expect(await syncs.conflicts(id)).toMatchObject([{ path: "a", reason: "content", cause: "sync" }]);
  expect([read("desk/a"), read("origin/a")]).toEqual(["mine", "theirs"]);
  expect(await syncs.resolve(id, "a", { keep: "local" })).toMatchObject({ kept: "local", conflicts: 0 });
  await syncs.flush(id);
  expect([read("desk/a"), read("origin/a")]).toEqual(["mine", "mine"]);

  const { state, lag, pending, degraded } = await syncs.status(id);
  expect({ state, lag, pending, degraded }).toEqual({ state: "in-sync", lag: 0, pending: 0, degraded: undefined });
  ending.abort();
  await following;
  expect(new Set(told.map(({ kind }) => kind))).toEqual(new Set(["state", "applied", "pushed", "conflict"]));

  const { problems } = await origin.verify();
  expect(problems).toEqual([]);
});

it("the next process takes a sync up, a stopped sync rests, and it starts again with other settings", async () => {
  const upstream = `unix:${join(base, "c.sock")}`;
  const folder = join(base, "desk");
  const { id } = await syncs.start({ upstream, folder });
  await syncs.flush(id);
  await syncs.close();
  write("desk/a", "while nobody ran it");
  write("origin/d/b", "meanwhile there");
  await origin.snapshot();
  const [, store] = stores as [StoreApi, StoreApi];
  syncs = openSyncs(store, (error) => errors.push(error));
  expect((await syncs.list()).map(({ state }) => state)).toEqual(["offline"]);
  await syncs.takeUp();
  expect(syncs.active).toBe(1);
  await syncs.flush(id);
  expect([read("origin/a"), read("desk/d/b")]).toEqual(["while nobody ran it", "meanwhile there"]);

  await expect(syncs.start({ upstream, folder, mode: "upwards" as "two-way-safe" })).rejects.toMatchObject({
    code: "USAGE",
  });
  await expect(syncs.start({ upstream: "there", folder })).rejects.toMatchObject({ code: "USAGE" });
  await expect(syncs.start({ upstream, folder: join(base, "desk/in/it") })).rejects.toMatchObject({ code: "UNSAFE" });
  expect(existsSync(join(base, "desk/in"))).toBe(false);
  write("a-file", "mine");
  await expect(syncs.start({ upstream, folder: join(base, "a-file") })).rejects.toMatchObject({
    code: "USAGE",
    message: expect.stringContaining("is a file"),
  });
  await expect(syncs.status("nothing")).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect((await syncs.status(folder)).id).toBe(id);

  expect(await syncs.stop(id)).toMatchObject({ state: "stopped" });
  expect(syncs.active).toBe(0);
  write("desk/a", "not seen");
  await expect(syncs.flush(id)).rejects.toMatchObject({ code: "REFUSED" });
  expect(read("origin/a")).toBe("while nobody ran it");

  await syncs.start({ upstream, folder, mode: "one-way-replica", filterTo: ["/d/"] });
  await syncs.flush(id);
  expect([read("desk/a"), read("origin/a"), read("desk/d/b")]).toEqual([
    "while nobody ran it",
    "while nobody ran it",
    "meanwhile there",
  ]);
  const [, second] = await origin.history("a");
  expect(second).toMatchObject({ cause: "replica" });
  expect(await origin.history("a")).toHaveLength(2);
});

it("a sync cannot be archived, and to forget it removes the copy of the origin's history and the token", async () => {
  const [, store] = stores as [StoreApi, StoreApi];
  const token = "a-token-of-some-length-0123456789";
  const { id } = await syncs.start({ upstream: `unix:${join(base, "c.sock")}`, folder: join(base, "desk"), token });
  await syncs.flush(id);
  const [kept, copy] = [join(base, "b-config/sync-tokens", id), join(base, "b/workspaces", id, "upstream")];
  expect([existsSync(kept), existsSync(copy)]).toEqual([true, true]);
  await expect(store.archive(id)).rejects.toMatchObject({
    code: "REFUSED",
    hint: expect.stringContaining("sync stop"),
  });
  await expect(store.forget(id)).rejects.toMatchObject({ code: "LOCKED" });
  // The process that ran the sync ends without having stopped the sync.
  await syncs.close();
  await store.forget(id, { now: true });
  expect([existsSync(kept), existsSync(copy)]).toEqual([false, false]);
  expect((await store.gc()).freed_blobs).toBeGreaterThan(0);
  expect(read("desk/a")).toBe("1");

  syncs = openSyncs(store, (error) => errors.push(error));
  const again = await syncs.start({ upstream: `unix:${join(base, "c.sock")}`, folder: join(base, "desk") });
  await syncs.flush(again.id);
  await syncs.stop(again.id);
  expect(await store.archive(again.id)).toMatchObject({ archived: true });
  const upstream = await store.openById(again.id, { upstream: true });
  expect((await upstream.history("a")).length).toBe(1);
  await upstream.close();
  await expect(
    syncs.start({ upstream: `unix:${join(base, "c.sock")}`, folder: join(base, "desk") }),
  ).rejects.toMatchObject({ code: "READ_ONLY", hint: expect.stringContaining("unarchive") });
});
