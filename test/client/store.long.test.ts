import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ChronicleClient } from "../../src/client/chronicle-client.ts";
import { ServedStore } from "../helpers/served-store.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

let server: ServedStore;
let client: ChronicleClient;
let folder: string;

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-folder-")));
  mkdirSync(join(folder, "src"));
  writeFileSync(join(folder, "src/a.txt"), "on disk");
  server = await ServedStore.start();
  const { workspace } = await server.store.init({ roots: [folder] });
  await workspace.close();
  client = server.client("port");
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

describe("the store of a server", () => {
  it("makes, lists, forks, archives and forgets workspaces", async () => {
    const { workspace, result } = await client.store.create({ name: "origin" });
    expect(result).toMatchObject({ created: true, path: "" });
    await workspace.putFile("a", bytes("1"));
    const snapshot = await workspace.snapshot();
    await workspace.putFile("a", bytes("2"));
    const fork = await client.store.create({
      name: "fork",
      from: { workspace: "origin", moment: String(snapshot.number) },
    });
    expect(await (await client.readFile("fork", "a")).text()).toBe("1");
    await fork.workspace.putFile("a", bytes("3"));
    expect(await (await client.readFile("origin", "a")).text()).toBe("2");
    expect((await client.store.workspaces()).map(({ name }) => name)).toEqual(
      expect.arrayContaining(["origin", "fork"]),
    );
    await expect(client.store.create({ name: "fork" })).rejects.toMatchObject({ code: "REFUSED" });
    await expect(client.store.create({ from: { workspace: workspace.id.slice(0, 8) } })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });

    expect(await client.store.archive("fork")).toMatchObject({ name: "fork", archived: true });
    await expect(fork.workspace.putFile("a", bytes("4"))).rejects.toMatchObject({ code: "READ_ONLY" });
    expect(await (await client.readFile("fork", "a")).text()).toBe("3");
    await client.store.archive("fork", false);
    await fork.workspace.putFile("a", bytes("4"));

    expect(await client.store.forget("fork")).toMatchObject({ name: "fork" });
    await expect(client.readFile("fork", "a")).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect((await client.store.gc()).freed_blobs).toBeGreaterThanOrEqual(0);
    expect((await client.store.du()).total_bytes).toBeGreaterThan(0);
    expect((await client.store.doctor()).checks.length).toBeGreaterThan(3);
  });

  it("opens a workspace by id, name and prefix of an id, but with `exact` not by a prefix", async () => {
    const { workspace } = await client.store.create({ name: "opened" });
    expect((await client.store.openById("opened")).id).toBe(workspace.id);
    expect((await client.store.openById(workspace.id)).id).toBe(workspace.id);
    expect((await client.store.openById(workspace.id.slice(0, 13))).id).toBe(workspace.id);
    const exact = client.store.openById(workspace.id.slice(0, 13), { exact: true });
    await expect(exact).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(client.store.openById("zzz")).rejects.toMatchObject({ code: "NOT_FOUND" });
    const looking = await client.store.openById("opened", { readOnly: true });
    await expect(looking.putFile("a", bytes("1"))).rejects.toMatchObject({ code: "READ_ONLY" });
    expect((await looking.files()).files).toEqual([]);
    await looking.close();
    await expect(looking.files()).rejects.toMatchObject({ code: "USAGE" });
  });

  it("opens the workspace of a folder on the server's machine", async () => {
    const workspace = await client.store.open({ folder: join(folder, "src") });
    expect(workspace.path).toBe(folder);
    writeFileSync(join(folder, "src/a.txt"), "edited");
    await workspace.record(["src"]);
    expect(await (await client.readFile(workspace.id, "src/a.txt")).text()).toBe("edited");
    await expect(client.store.open({ folder: "/nowhere/at/all" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("refuses requests that a server cannot carry out for its caller", async () => {
    const workspace = client.workspace("opened");
    await expect(client.store.init({ roots: [folder] })).rejects.toMatchObject({ code: "USAGE" });
    const asked = { folder: "/nowhere/at/all", create: true };
    await expect(client.store.open(asked)).rejects.toMatchObject({ code: "USAGE" });
    await expect(client.store.open({ folder, upstream: true })).rejects.toMatchObject({ code: "USAGE" });
    await expect(client.store.openById("opened", { upstream: true })).rejects.toMatchObject({ code: "USAGE" });
    await expect(workspace.run({ command: ["true"] })).rejects.toMatchObject({ code: "USAGE" });
    await expect(workspace.watch()).rejects.toMatchObject({ code: "USAGE" });
    await expect(workspace.restore("baseline", { to: "/tmp/x" })).rejects.toMatchObject({ code: "USAGE" });
    await expect(workspace.beginTransaction({ pid: 1 })).rejects.toMatchObject({ code: "USAGE" });
    await expect(workspace.records.backup("/tmp")).rejects.toMatchObject({ code: "USAGE" });
    await workspace.follow();
  });

  it("migrates records only if they are still as they were read, and leaves deleted ones deleted", async () => {
    const { workspace } = await client.store.create({ name: "rewritten" });
    const { records } = workspace;
    await records.upsert("a", { n: 1 });
    await records.upsert("b", { n: 1 });
    const rewrite = (...read: readonly (readonly [id: string, n: number])[]): Promise<Response> =>
      fetch(`${server.url}/v1/workspaces/${workspace.id}/records/migrate`, {
        method: "POST",
        headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json" },
        body: JSON.stringify({ records: read.map(([id, n]) => ({ id, before: { n }, record: { n: 9 } })) }),
      });
    const stale: readonly (readonly (readonly [string, number])[])[] = [
      [["a", 1]],
      [
        ["a", 1],
        ["b", 2],
      ],
    ];
    for (const read of stale) {
      const refused = await rewrite(...read);
      expect([refused.status, await refused.json()]).toEqual([412, expect.objectContaining({ data: { record: "b" } })]);
    }
    await records.delete("b");
    expect(await (await rewrite(["a", 1], ["b", 1])).json()).toEqual({ records: 1 });
    expect(await records.all()).toEqual([["a", { n: 9 }]]);
  });

  it("reports the role of the caller, and refuses a wrong token", async () => {
    expect(await client.me()).toMatchObject({ role: "operator", workspaces: null, version: "0.0.0-test" });
    const stranger = server.client("port", { token: "chr_wrong", retry: { tries: 1, firstWait: 1, longestWait: 1 } });
    await expect(stranger.me()).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  });

  it("returns long lists completely", async () => {
    const { workspace } = await client.store.create({ name: "long" });
    for (let i = 0; i < 25; i += 1) {
      await Promise.all(Array.from({ length: 50 }, (_, j) => workspace.putFile(`f/${i}-${j}`, bytes(`${i} ${j}`))));
    }
    const files = await client.listFiles("long", "f");
    expect(new Set(files.map(({ path }) => path)).size).toBe(1_250);
    const log = await workspace.log();
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, i) => i + 1));
    expect(await workspace.log({ limit: 1_100, reverse: true })).toHaveLength(1_100);
    expect((await workspace.operations()).length).toBe(1_250);
  });
});
