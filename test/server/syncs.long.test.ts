import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { SyncEventShape, SyncShape } from "../../src/api/sync-api.ts";
import { syncBridge } from "../../src/api/sync-bridge.ts";
import { createClient } from "../../src/client/create-node-client.ts";
import type { ChronicleClient } from "../../src/client/chronicle-client.ts";
import { OPERATOR, Serving } from "./serving.ts";

/** `/v1/syncs`: folders of the server's machine, for its owner on the Unix socket. Here the origin is the same server. */

let serving: Serving;
let client: ChronicleClient;
let desk: string;

beforeAll(async () => {
  serving = await Serving.start({ replication: true });
  const id = await serving.create("session-1");
  await serving.put(id, "notes.txt", "one\n");
  client = createClient({ url: `unix:${serving.run.socket}` });
  desk = join(serving.base, "desk");
});
afterAll(async () => {
  await client.close();
  await serving[Symbol.asyncDispose]();
});

const upstream = (): string => `unix:${serving.run.socket}`;
const bySocket = { bySocket: true };
const until = <T>(look: () => T | Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 5_000, interval: 20 });

describe("who may ask", () => {
  it("is the owner on the Unix socket, and nobody on a port", async () => {
    const asked: [string, string, string][] = [
      ["GET", "/v1/syncs", OPERATOR],
      ["GET", "/v1/sync-events", OPERATOR],
      ["GET", "/v1/syncs/x/conflicts", serving.token("reader")],
    ];
    for (const [method, path, token] of asked) expect((await serving.ask(path, { method, token })).status).toBe(403);
    const start = { upstream: upstream(), folder: "/tmp/never" };
    expect((await serving.send("/v1/syncs", start)).status).toBe(403);
    expect((await serving.send("/v1/syncs", start, { token: serving.token("agent") })).status).toBe(403);
    expect((await serving.ask("/v1/syncs", bySocket)).json()).toEqual({ items: [], next: null });
  });

  it("is not an agent, for the beginning and the end of a sync", async () => {
    const agent = createClient({ url: upstream(), acting: { role: "agent" } });
    const code = "FORBIDDEN";
    await expect(agent.syncs.start({ upstream: upstream(), folder: desk })).rejects.toMatchObject({ code });
    await expect(agent.syncs.stop("x")).rejects.toMatchObject({ code });
    expect(await agent.syncs.list()).toEqual([]);
    await agent.close();
  });
});

describe("a sync", () => {
  it("can be begun, followed, settled and ended", async () => {
    const seen: SyncEventShape[] = [];
    const ended = new AbortController();
    const following = (async () => {
      for await (const event of client.syncs.events(undefined, ended.signal)) seen.push(event);
    })();
    mkdirSync(desk);
    const begun = await client.syncs.start({
      upstream: upstream(),
      workspace: "session-1",
      folder: desk,
      debounceMs: 5,
    });
    expect(begun).toMatchObject({ folder: desk, asked: "session-1", mode: "two-way-safe" });
    await until(() => expect(readFileSync(join(desk, "notes.txt"), "utf8")).toBe("one\n"));
    await client.syncs.flush(begun.id);
    await client.syncs.pause(desk);
    await expect(client.syncs.flush(desk)).rejects.toMatchObject({ code: "REFUSED" });
    writeFileSync(join(desk, "notes.txt"), "mine\n");
    await serving.put("session-1", "notes.txt", "theirs\n");
    await client.syncs.resume(begun.id.slice(0, 8));
    await until(async () => expect(await client.syncs.conflicts(desk)).toMatchObject([{ path: "notes.txt" }]));
    const content = new TextEncoder().encode("both\n");
    const [from] = await client.syncs.conflicts(desk);
    const merge = { keep: "merge", content } as const;
    const other = { current_hash: from?.undo_hash ?? "", undo_hash: "" };
    const refused = client.syncs.resolve(desk, "notes.txt", { ...merge, from: other });
    await expect(refused).rejects.toMatchObject({ code: "REFUSED", data: { changed: true } });
    const settled = await client.syncs.resolve(desk, "notes.txt", { ...merge, ...(from && { from }) });
    expect(settled).toMatchObject({ path: "notes.txt", kept: "merge" });
    await until(async () => expect((await serving.read("session-1", "notes.txt")).text).toBe("both\n"));
    expect(await client.syncs.stop(begun.id)).toMatchObject({ state: "stopped" });
    ended.abort();
    await following;
    const kinds = new Set(seen.map(({ kind }) => kind));
    expect([...kinds].toSorted()).toEqual(["applied", "conflict", "pushed", "state"]);
    expect(seen.every(({ id }) => id === begun.id)).toBe(true);
  });

  it("follows one workspace for ever: a start with another one, by id or by name, is refused and changes nothing", async () => {
    await using served = await Serving.start({ replication: true, folder: true });
    const mine = createClient({ url: `unix:${served.run.socket}` });
    const folder = join(served.base, "one");
    const start = { upstream: `unix:${served.run.socket}`, folder, debounceMs: 5 };
    const other = await served.create("other");
    // No workspace is named, so the sync follows that of the server's folder.
    const { id } = await mine.syncs.start(start);
    const { workspace } = await mine.syncs.flush(id);
    await expect(mine.syncs.start({ ...start, workspace: other })).rejects.toMatchObject({ code: "REFUSED" });
    const before = await mine.syncs.status(id);
    await expect(mine.syncs.start({ ...start, workspace: "other" })).rejects.toMatchObject({
      code: "REFUSED",
      message: expect.stringContaining(`this folder follows workspace ${workspace} at unix:`),
      hint: "nothing was changed; to follow another workspace, choose another folder for it",
    });
    expect(await mine.syncs.status(id)).toEqual(before);
    writeFileSync(join(folder, "mine.txt"), "mine");
    await mine.syncs.flush(id);
    expect((await served.read(workspace, "mine.txt")).text).toBe("mine");
    expect((await served.read("other", "mine.txt")).status).toBe(404);
    await mine.close();
  });

  it("can begin at another address only if the same workspace answers there; otherwise nothing is changed", async () => {
    await using served = await Serving.start({ replication: true, folder: true });
    await using another = await Serving.start({ replication: true, folder: true });
    const mine = createClient({ url: `unix:${served.run.socket}` });
    const folder = join(served.base, "one");
    const upstream = `unix:${served.run.socket}`;
    const { id } = await mine.syncs.start({ upstream, folder, debounceMs: 5 });
    await mine.syncs.flush(id);
    const before = await mine.syncs.status(id);
    const elsewhere = { upstream: `unix:${another.run.socket}`, folder };
    const follows = expect.stringContaining(`this folder follows workspace ${before.workspace} at unix:`);
    await expect(mine.syncs.start(elsewhere)).rejects.toMatchObject({ code: "REFUSED", message: follows });
    const nobody = { upstream: `unix:${join(served.base, "nobody.sock")}`, folder };
    await expect(mine.syncs.start(nobody)).rejects.toMatchObject({
      code: "REFUSED",
      hint: expect.stringMatching(`follows workspace ${before.workspace} at unix:\\S+, and nothing was changed`),
    });
    const nosuch = mine.syncs.start({ upstream, folder, workspace: "nosuch" });
    await expect(nosuch).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await mine.syncs.status(id)).toEqual(before);
    // Another address of the same workspace.
    const moved = join(served.base, "moved.sock");
    symlinkSync(served.run.socket, moved);
    expect(await mine.syncs.start({ upstream: `unix:${moved}`, folder })).toMatchObject({ upstream: `unix:${moved}` });
    expect(await mine.syncs.flush(id)).toMatchObject({ workspace: before.workspace, state: "in-sync" });
    await mine.close();
  });

  it("that its origin refuses for good leaves nothing behind: no folder, no workspace, no sync", async () => {
    const folder = join(serving.base, "nothing");
    const before = await serving.store.workspaces();
    const refused = client.syncs.start({ upstream: upstream(), workspace: "nosuch", folder });
    await expect(refused).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringContaining("there is no workspace nosuch"),
    });
    expect(existsSync(folder)).toBe(false);
    expect((await serving.store.workspaces()).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect((await client.syncs.list()).filter((one) => one.folder === folder)).toEqual([]);
  });

  it("whose origin is not there is offline, and a flush waits for it no longer than its timeout", async () => {
    const folder = join(serving.base, "lonely");
    const { id } = await client.syncs.start({ upstream: `unix:${join(serving.base, "nowhere.sock")}`, folder });
    const began = performance.now();
    const late = client.syncs.flush(id, { timeoutMs: 100 });
    await expect(late).rejects.toMatchObject({ code: "REFUSED" });
    expect(performance.now() - began).toBeLessThan(1_500);
    expect(await client.syncs.status(id)).toMatchObject({ state: "offline", peer: null });
    expect((await client.syncs.status(id)).reason).toContain("it does not exist");
    await client.syncs.stop(id);
  });

  it("is found by its folder, also behind a link; a bridge begins it again there, but not in a second folder", async () => {
    mkdirSync(join(serving.base, "real"));
    symlinkSync(join(serving.base, "real"), join(serving.base, "linked"));
    const folder = join(serving.base, "linked", "one");
    const bridge = syncBridge({ syncs: client.syncs, upstream: upstream() });
    await bridge.start_sync("session-1", folder);
    await bridge.start_sync("session-1", `${folder}/`);
    expect(await client.syncs.status(folder)).toMatchObject({ folder: join(serving.base, "real", "one") });
    expect(await bridge.sync_status("session-1")).toMatchObject({ peer: upstream() });
    const second = join(serving.base, "second");
    await expect(bridge.start_sync("session-1", second)).rejects.toMatchObject({ code: "REFUSED" });
    expect(existsSync(second)).toBe(false);
    await bridge.stop_sync("session-1");
    await expect(client.syncs.status(second)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("has problems that say what is wrong with a request", async () => {
    const problem = async (path: string, value?: unknown) => {
      const answered = await (value === undefined ? serving.ask(path, bySocket) : serving.send(path, value, bySocket));
      const { code, detail } = answered.json<{ code: string; detail: string }>();
      return [answered.status, code, detail];
    };
    expect(await problem("/v1/syncs/none")).toEqual([404, "NOT_FOUND", "there is no sync none"]);
    expect(await problem("/v1/syncs", { upstream: upstream() })).toEqual([
      400,
      "USAGE",
      expect.stringContaining("folder"),
    ]);
    const sideways = { upstream: upstream(), folder: "/x", mode: "sideways" };
    expect(await problem("/v1/syncs", sideways)).toEqual([400, "USAGE", expect.stringContaining("body.mode")]);
    const wrong = { upstream: "ftp://x", folder: join(serving.base, "never") };
    expect(await problem("/v1/syncs", wrong)).toEqual([400, "USAGE", "this is not the address of an origin"]);
    const found = (await client.syncs.list()).find(({ folder }) => folder === desk) as SyncShape;
    expect(
      await problem(`/v1/syncs/${encodeURIComponent(found.folder)}/resolve`, { path: "x", keep: "local" }),
    ).toEqual([...[404, "NOT_FOUND"], "no conflict of x is open"]);
  });
});
