import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Caller } from "../../src/server/callers/caller.ts";
import { HeavyReads } from "../../src/server/callers/heavy-reads.ts";
import { GatewayClient } from "../server/gateway-client.ts";
import { Serving } from "../server/serving.ts";

/** Sends a request whose body does not end, on a connection of its own, so that the server stays at work on it. */
function atWork(serving: Serving, token: string): Promise<Socket> {
  const socket = connect(serving.port, "127.0.0.1");
  socket.on("error", () => undefined);
  const head = `PUT /v1/workspaces/w/files/a HTTP/1.1\r\nHost: 127.0.0.1:${serving.port}\r\n`;
  return new Promise((done) => {
    socket.once("connect", () => {
      socket.write(`${head}Authorization: Bearer ${token}\r\nContent-Length: 9\r\n\r\nhalf`, () => done(socket));
    });
  });
}

async function isWellForOperators(serving: Serving): Promise<void> {
  expect((await serving.ask("/healthz", { token: null })).status).toBe(200);
  expect((await serving.ask("/v1/me")).status).toBe(200);
  expect((await serving.put("w", "b", "operator")).status).toBeLessThan(300);
}

/** Tries to connect `tries` times with each token. Returns the clients that were let in. */
async function clients(serving: Serving, tokens: readonly string[], tries: number): Promise<GatewayClient[]> {
  const open: GatewayClient[] = [];
  for (const token of tokens) {
    for (let n = 0; n < tries; n += 1) {
      const client = await GatewayClient.connect(serving, { token }).catch(() => undefined);
      if (client !== undefined) open.push(client);
    }
  }
  return open;
}

/**
 * Time between two checks of a connection, in ms. A connection that does not answer within it is cut off, also on a
 * busy machine.
 */
const BEAT_MS = 1_000;

describe("Truth 20: no caller keeps others out", () => {
  test(
    "however many gateway connections readers open, operators and agents are served",
    { timeout: 300_000 },
    async () => {
      await using serving = await Serving.start({ limits: { connections: 40 } });
      await serving.create("w");
      const tokens = [serving.token("reader"), serving.token("reader"), serving.token("reader")];
      const open = await clients(serving, tokens, 20);
      expect(open.length).toBeGreaterThan(0);
      expect(open.length).toBeLessThanOrEqual(10);
      await isWellForOperators(serving);
      await using agent = await GatewayClient.connect(serving, { token: serving.token("agent") });
      expect(await agent.ask({ type: "list_files", session_id: "w" })).toMatchObject({ type: "list_files_result" });
      // A connection that is closed frees its seat.
      for (const one of open) await one.close();
      await expect
        .poll(async () => (await clients(serving, tokens.slice(0, 1), 1)).length, { timeout: 60_000 })
        .toBe(1);
    },
  );

  test("one reader leaves seats for the others", async () => {
    await using serving = await Serving.start({ limits: { connections: 40 } });
    await serving.create("w");
    const open = await clients(serving, [serving.token("reader")], 20);
    expect(open).toHaveLength(8);
    expect(await clients(serving, [serving.token("reader")], 1)).toHaveLength(1);
    expect((await serving.ask("/v1/me", { token: serving.token("reader") })).status).toBe(200);
  });

  test("an agent's uploads that do not end leave room for operators and readers", async () => {
    await using serving = await Serving.start({ limits: { connections: 40 } });
    await serving.create("w");
    const token = serving.token("agent");
    const held = await Promise.all(Array.from({ length: 39 }, () => atWork(serving, token)));
    const told = async (): Promise<number> => (await serving.ask("/v1/me", { token })).status;
    await expect.poll(told, { timeout: 60_000 }).toBe(429);
    await isWellForOperators(serving);
    expect((await serving.ask("/v1/me", { token: serving.token("reader") })).status).toBe(200);
    for (const socket of held) socket.destroy();
    await expect.poll(told, { timeout: 60_000 }).toBe(200);
  });

  test("event streams of many tokens of one role leave room for operators", async () => {
    await using serving = await Serving.start({ limits: { connections: 40 } });
    await serving.create("w");
    const sockets: Socket[] = [];
    for (let n = 0; n < 20; n += 1) {
      const socket = connect(serving.port, "127.0.0.1");
      socket.on("error", () => undefined);
      const head = `GET /v1/workspaces/w/events HTTP/1.1\r\nHost: 127.0.0.1:${serving.port}\r\n`;
      const begun = new Promise<void>((done) => socket.once("data", () => done()));
      socket.write(`${head}Authorization: Bearer ${serving.token("reader")}\r\n\r\n`);
      await begun;
      sockets.push(socket);
    }
    const { status, headers } = await serving.ask("/v1/me", { token: serving.token("reader") });
    expect([status, headers["retry-after"]]).toEqual([429, "1"]);
    await isWellForOperators(serving);
    for (const socket of sockets) socket.destroy();
  });

  test.each([
    ["a list", "files?fresh=true"],
    ["a description", "file?path=many&fresh=true"],
    ["a content", "files/many?fresh=true"],
  ])("%s as it is on disk now: a token with too many reads is refused, and other reads are not", async (_, asked) => {
    await using serving = await Serving.start({
      folder: true,
      limits: { heavyReads: 2 },
      before: async (_store, base) => {
        const many = join(base, "project", "many");
        mkdirSync(many);
        for (let n = 0; n < 100; n += 1) writeFileSync(join(many, `${n}`), "");
      },
    });
    const { default_workspace: id } = (await serving.ask("/v1/me")).json<{ default_workspace: string }>();
    const base = `/v1/workspaces/${id}`;
    const token = serving.token("reader");
    const answers = await Promise.all(Array.from({ length: 12 }, () => serving.ask(`${base}/${asked}`, { token })));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]?.json()["detail"]).toContain("waits for 2 reads of what is on disk now already");
    // Other readers, and reads of recorded states, are not refused.
    expect((await serving.ask(`${base}/${asked}`, { token: serving.token("reader") })).status).not.toBe(429);
    const plain = await Promise.all(Array.from({ length: 12 }, () => serving.ask(`${base}/files`, { token })));
    expect(plain.map(({ status }) => status)).toEqual(plain.map(() => 200));
  });

  test("the subscriptions of one token are limited, over all its connections", async () => {
    await using serving = await Serving.start({ limits: { subscriptions: 3 } });
    await serving.create("w");
    const token = serving.token("reader");
    await using one = await GatewayClient.connect(serving, { token });
    await using two = await GatewayClient.connect(serving, { token });
    const subscribe = async (client: GatewayClient, id: string): Promise<string> => {
      const { type, code } = await client.ask({ type: "subscribe_events", session_id: "w", request_id: id });
      return typeof code === "string" ? code : type;
    };
    const done = "subscribe_events_result";
    expect(await subscribe(one, "a")).toBe(done);
    expect(await subscribe(one, "b")).toBe(done);
    expect(await subscribe(two, "c")).toBe(done);
    expect([await subscribe(one, "d"), await subscribe(two, "d")]).toEqual(["RATE_LIMITED", "RATE_LIMITED"]);
    await one.ask({ type: "unsubscribe_events", session_id: "w", subscription: "a" });
    expect(await subscribe(two, "e")).toBe(done);
    // A subscription that fails takes no seat, and a connection that ends frees all its seats.
    await one.close();
    await expect.poll(() => subscribe(two, "f"), { timeout: 60_000 }).toBe(done);
    await using other = await GatewayClient.connect(serving, { token: serving.token("reader") });
    for (const id of ["1", "2", "3", "4"]) {
      const { type } = await other.ask({ type: "subscribe_events", session_id: "none", request_id: id });
      expect(type).toBe("error");
    }
    expect(await subscribe(other, "5")).toBe(done);
  });

  test("the subscriptions of an operator are not limited", async () => {
    await using serving = await Serving.start({ limits: { subscriptions: 1 } });
    await serving.create("w");
    await using operator = await GatewayClient.connect(serving);
    for (const id of ["1", "2", "3"]) {
      const { type } = await operator.ask({ type: "subscribe_events", session_id: "w", request_id: id });
      expect(type).toBe("subscribe_events_result");
    }
  });

  test("the owner's gateway connection is not closed when it is idle", async () => {
    await using serving = await Serving.start({ limits: { gatewayIdleMs: 500, heartbeatMs: BEAT_MS } });
    await serving.create("w");
    await using owner = await GatewayClient.connect(serving, { bySocket: true });
    const idle = await GatewayClient.connect(serving);
    expect(await idle.closed).toBe(1001);
    expect(await owner.ask({ type: "list_files", session_id: "w" })).toMatchObject({ type: "list_files_result" });
  });

  test("an idle gateway connection is closed, and one with a subscription is not", async () => {
    await using serving = await Serving.start({ limits: { gatewayIdleMs: 2_000, heartbeatMs: BEAT_MS } });
    await serving.create("w");
    await using following = await GatewayClient.connect(serving);
    await following.ask({ type: "subscribe_events", session_id: "w" });
    const idle = await GatewayClient.connect(serving);
    expect(await idle.closed).toBe(1001);
    await serving.put("w", "a", "one");
    await expect.poll(() => following.events.length, { timeout: 60_000 }).toBeGreaterThan(0);
  });

  test("checks of whole histories are limited for each token", { timeout: 300_000 }, async () => {
    await using serving = await Serving.start({ limits: { heavyReads: 1 } });
    await serving.create("w");
    for (let n = 0; n < 24; n += 1) await serving.put("w", `f${n}`, randomBytes(1024 * 1024));
    const token = serving.token("reader");
    const asked = Array.from({ length: 30 }, () => serving.ask("/v1/workspaces/w/verify", { token }));
    await serving.put("w", "meanwhile", "written");
    const statuses = new Set((await Promise.all(asked)).map(({ status }) => status));
    expect(statuses).toEqual(new Set([200, 429]));
    expect((await serving.ask("/v1/workspaces/w/verify", { token })).status).toBe(200);
  });

  test.each(["diff?from=baseline&to=latest&patch=true", "changes?since=baseline&patch=true"])(
    "large answers are limited for each token (%s)",
    { timeout: 300_000 },
    async (what) => {
      await using serving = await Serving.start({ limits: { heavyReads: 1 } });
      await serving.create("w");
      for (let n = 0; n < 24; n += 1) await serving.put("w", `f${n}`, `${n} line\n`.repeat(50_000));
      expect((await serving.send("/v1/workspaces/w/snapshots", {})).status).toBeLessThan(300);
      const token = serving.token("reader");
      const asked = Array.from({ length: 30 }, () => serving.ask(`/v1/workspaces/w/${what}`, { token }));
      expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([200, 429]));
      expect((await serving.ask(`/v1/workspaces/w/${what}`, { token })).status).toBe(200);
      const light = Array.from({ length: 10 }, () =>
        serving.ask("/v1/workspaces/w/diff?from=baseline&to=latest", { token }),
      );
      expect(new Set((await Promise.all(light)).map(({ status }) => status))).toEqual(new Set([200]));
    },
  );

  test("only one check of a workspace runs at a time, and two checks in all", async () => {
    const heavy = new HeavyReads(4, "checks of histories");
    const reader: Caller = { id: "t1", name: "reader t1", role: "reader", isOwner: false };
    const begun: string[] = [];
    const turnOf = async (workspace: string, caller = reader): Promise<Disposable> => {
      const turn = await heavy.turn(workspace, caller);
      begun.push(workspace);
      return turn;
    };
    const [first, second] = [await turnOf("a"), turnOf("a")];
    const [third, fourth] = [await turnOf("b"), turnOf("c", { ...reader, id: "t2" })];
    expect(begun).toEqual(["a", "b"]);
    const last = turnOf("c");
    await expect(turnOf("d")).rejects.toMatchObject({ code: "RATE_LIMITED" });
    first[Symbol.dispose]();
    third[Symbol.dispose]();
    (await second)[Symbol.dispose]();
    (await fourth)[Symbol.dispose]();
    (await last)[Symbol.dispose]();
    expect(begun.toSorted()).toEqual(["a", "a", "b", "c", "c"]);
    (await turnOf("d"))[Symbol.dispose]();
  });
});
