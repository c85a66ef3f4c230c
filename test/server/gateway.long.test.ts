import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GatewayClient, type GatewayAnswer } from "./gateway-client.ts";
import { Serving } from "./serving.ts";

/** The messages of a gateway, over WebSocket, as a gateway speaks them. */

let serving: Serving;
let id: string;
let client: GatewayClient;

beforeAll(async () => {
  serving = await Serving.start();
  id = await serving.create("session-1");
  await serving.put(id, "src/auth.ts", "one");
  await serving.put(id, "src/auth.ts", "two");
  await serving.put(id, "data.bin", new Uint8Array([0xff, 0, 1]));
  client = await GatewayClient.connect(serving);
});
afterAll(async () => {
  await client.close();
  await serving[Symbol.asyncDispose]();
});

const ask = (message: Record<string, unknown>, session = "session-1") =>
  client.ask({ session_id: session, ...message });

describe("the four questions", () => {
  it("list_files", async () => {
    const all = await ask({ type: "list_files" });
    expect(all).toMatchObject({ type: "list_files_result", session_id: "session-1", next: null });
    expect(all["files"]).toMatchObject([
      { path: "data.bin" },
      { path: "src", kind: "dir" },
      { path: "src/auth.ts", size: 3 },
    ]);
    const top = await ask({ type: "list_files", depth: 1, limit: 1 });
    expect([top["files"], top["next"]]).toMatchObject([[{ path: "data.bin" }], "data.bin"]);
    const rest = await ask({ type: "list_files", depth: 1, after: "data.bin" });
    expect(rest["files"]).toMatchObject([{ path: "src" }]);
    expect((await ask({ type: "list_files", path: "src" }))["files"]).toMatchObject([{ path: "src/auth.ts" }]);
  });

  it("read_file", async () => {
    expect(await ask({ type: "read_file", path: "src/auth.ts" })).toMatchObject({
      ...{ type: "read_file_result", path: "src/auth.ts", kind: "file", iteration: 2, size: 3 },
      ...{ encoding: "utf8", content: "two" },
    });
    expect(await ask({ type: "read_file", path: "data.bin" })).toMatchObject({ encoding: "base64", content: "/wAB" });
    expect(await ask({ type: "read_file", path: "src" })).toMatchObject({ type: "error", code: "REFUSED" });
  });

  it("file_history and file_at_iteration", async () => {
    const history = await ask({ type: "file_history", path: "src/auth.ts" });
    expect(history).toMatchObject({ iterations: [{ iteration: 1, size: 3 }, { iteration: 2 }], next: null });
    const page = await ask({ type: "file_history", path: "src/auth.ts", limit: 1 });
    expect([page["iterations"], page["next"]]).toMatchObject([[{ iteration: 1 }], 1]);
    expect((await ask({ type: "file_history", path: "src/auth.ts", after: 1 }))["iterations"]).toMatchObject([
      { iteration: 2 },
    ]);
    const first = await ask({ type: "file_at_iteration", path: "src/auth.ts", iteration: 1 });
    expect(first).toMatchObject({ type: "file_at_iteration_result", content: "one", iteration: 1 });
    expect((await ask({ type: "file_at_iteration", path: "src/auth.ts", iteration: 3 }))["code"]).toBe("NOT_FOUND");
  });

  it("virtual paths, in messages and over HTTP", async () => {
    expect((await ask({ type: "read_file", path: ".chronicle/at/1/src/auth.ts" }))["content"]).toBe("one");
    const asFile = await ask({ type: "read_file", path: ".chronicle/query/src/auth.ts" });
    expect(JSON.parse(String(asFile["content"]))).toMatchObject([{ iteration: 1 }, { iteration: 2 }]);
    expect((await serving.read(id, ".chronicle/at/1/src/auth.ts")).text).toBe("one");
    const history = (await serving.read(id, ".chronicle/query/src/auth.ts")).json<{ items: unknown[] }>();
    expect(history.items).toMatchObject([{ iteration: 1 }, { iteration: 2 }]);
    expect((await serving.put(id, ".chronicle/query/src/auth.ts", "no file")).status).toBe(409);
    expect((await serving.read(id, ".chronicle/query/src/auth.ts?as=content")).status).toBe(404);
    expect((await serving.read(id, ".chronicle/notes.txt")).status).toBe(404);
  });

  it("the rest of a content that is too large for a message is read over HTTP", async () => {
    const large = Buffer.alloc(700_000, "é");
    await serving.put(id, "large.txt", large);
    const begun = await ask({ type: "read_file", path: "large.txt" });
    const { url, range } = begun["rest"] as { url: string; range: string };
    const { status, bytes } = await serving.ask(url, { headers: { range } });
    expect([status, Buffer.concat([Buffer.from(String(begun["content"])), bytes]).equals(large)]).toEqual([206, true]);
  });
});

it("the owner's Unix socket needs no token, and refuses a request with an origin", async () => {
  await using one = await GatewayClient.connect(serving, { bySocket: true });
  expect(await one.ask({ type: "read_file", session_id: id, path: "src/auth.ts" })).toMatchObject({ content: "two" });
  const headers = { origin: "http://127.0.0.1" };
  await expect(GatewayClient.connect(serving, { bySocket: true, headers })).rejects.toThrow("403");
});

describe("what does not fit", () => {
  it.each([
    ["no JSON", "{", "USAGE", null],
    ["a list", "[]", "USAGE", null],
    ["no type", '{"request_id":"x","session_id":"session-1"}', "USAGE", "x"],
    ["another type", '{"type":"erase","request_id":"x","session_id":"session-1"}', "USAGE", "x"],
    ["no request_id", '{"type":"list_files","session_id":"session-1"}', "USAGE", null],
    ["an unknown member", '{"type":"list_files","request_id":7,"session_id":"session-1","z":1}', "USAGE", 7],
    [
      "a path upwards",
      '{"type":"read_file","request_id":"x","session_id":"session-1","path":"../a"}',
      "PATH_INVALID",
      "x",
    ],
    ["no such session", '{"type":"list_files","request_id":"x","session_id":"session-2"}', "NOT_FOUND", "x"],
    ["a path for a session", '{"type":"list_files","request_id":"x","session_id":"../session-1"}', "NOT_FOUND", "x"],
  ])("is answered with an error: %s", async (_name, text, code, requestId) => {
    await using one = await GatewayClient.connect(serving);
    one.raw(text);
    expect(await one.next((answer) => answer.type === "error")).toMatchObject({ code, request_id: requestId });
  });

  it("ends the connection if it is too large", async () => {
    await using one = await GatewayClient.connect(serving);
    one.raw(" ".repeat(1024 * 1024 + 1));
    expect(await one.closed).toBe(1009);
  });

  it("is refused before the upgrade: no token, another host, another origin, another path", async () => {
    await expect(GatewayClient.connect(serving, { token: null })).rejects.toThrow("401");
    await expect(GatewayClient.connect(serving, { token: "chr_wrong" })).rejects.toThrow("401");
    await expect(GatewayClient.connect(serving, { headers: { host: "evil.example" } })).rejects.toThrow("421");
    await expect(GatewayClient.connect(serving, { headers: { origin: "https://evil.example" } })).rejects.toThrow(
      "403",
    );
    await expect(GatewayClient.connect(serving, { path: "/v1/other" })).rejects.toThrow("404");
  });
});

describe("a token", () => {
  it("shows only its own sessions, and loses the connection when it is revoked", async () => {
    await using short = await Serving.start({ limits: { heartbeatMs: 300 } });
    await short.create("session-mine");
    const theirs = await short.create("session-theirs");
    const token = short.token("reader", ["session-mine"]);
    const one = await GatewayClient.connect(short, { token });
    expect((await one.ask({ type: "list_files", session_id: "session-mine" })).type).toBe("list_files_result");
    expect((await one.ask({ type: "list_files", session_id: "session-theirs" }))["code"]).toBe("NOT_FOUND");
    expect((await one.ask({ type: "list_files", session_id: theirs }))["code"]).toBe("NOT_FOUND");
    short.revoke("t1");
    expect(await one.closed).toBe(1008);
  });
});

describe("subscriptions", () => {
  it("bring events as they come, after the event that they name, until they are ended", async () => {
    const begun = await client.ask({ type: "subscribe_events", session_id: id, request_id: "events", prefix: "file:" });
    expect(begun).toMatchObject({ type: "subscribe_events_result", request_id: "events" });
    await serving.put(id, "told.txt", "x");
    const told = await client.next((one) => one.type === "event" && one.request_id === "events");
    expect(told["event"]).toMatchObject({ record_id: "file:told.txt" });
    const { seq } = told["event"] as { seq: number };
    const again = { type: "subscribe_events", session_id: id, request_id: "again", after: seq - 1 };
    expect((await client.ask(again))["after"]).toBe(seq - 1);
    expect((await client.next((one) => one.type === "event" && one.request_id === "again"))["event"]).toEqual(
      told["event"],
    );
    expect((await client.ask(again))["code"]).toBe("USAGE");
    const end = { type: "unsubscribe_events", session_id: id, subscription: "again" };
    expect((await client.ask(end)).type).toBe("unsubscribe_events_result");
    expect(await client.next((one) => one.type === "events_end")).toMatchObject({ request_id: "again" });
    expect((await client.ask(end))["code"]).toBe("NOT_FOUND");
    const beyond = { type: "subscribe_events", session_id: id, after: 99_999 };
    expect(await client.ask(beyond)).toMatchObject({ type: "error", code: "NOT_FOUND" });
  });
});

it("a hundred sessions at once are apart from each other", async () => {
  const names = Array.from({ length: 100 }, (_, i) => `many-${i}`);
  await Promise.all(names.map((name) => serving.create(name)));
  const events = new Map<string, GatewayAnswer[]>();
  await using gateway = await GatewayClient.connect(serving);
  await Promise.all(names.map((name) => gateway.ask({ type: "subscribe_events", session_id: name, prefix: "file:" })));
  await Promise.all(
    names.map(async (name) => {
      await serving.put(name, "own.txt", name);
      await serving.put(name, `only-${name}.txt`, name);
    }),
  );
  const answers = await Promise.all(
    names.map(async (name) => {
      const { files } = await gateway.ask({ type: "list_files", session_id: name });
      const { content } = await gateway.ask({ type: "read_file", session_id: name, path: "own.txt" });
      const history = await gateway.ask({ type: "file_history", session_id: name, path: "own.txt" });
      return { paths: (files as { path: string }[]).map((one) => one.path), content, history };
    }),
  );
  for (const [i, { paths, content, history }] of answers.entries()) {
    expect([paths, content]).toEqual([[`only-${names[i]}.txt`, "own.txt"], names[i]]);
    expect(history["iterations"]).toHaveLength(1);
  }
  for (let waited = 0; waited < 5_000 && gateway.events.length < 200; waited += 10) await sleep(10);
  for (const event of gateway.events) {
    const session = String(event["session_id"]);
    events.set(session, [...(events.get(session) ?? []), event]);
  }
  for (const name of names) {
    const told = (events.get(name) ?? []).map((one) => (one["event"] as { record_id: string }).record_id);
    expect(told.toSorted()).toEqual([`file:only-${name}.txt`, "file:own.txt"]);
  }
});

it("a client that reads nothing is cut off, long before all its answers were sent", async () => {
  await using slow = await Serving.start({ limits: { slowMs: 300, heartbeatMs: 60_000 } });
  const session = await slow.create("slow");
  await slow.put(session, "large.txt", Buffer.alloc(500_000, "x"));
  const one = await GatewayClient.connect(slow);
  one.pause();
  for (let i = 0; i < 400; i += 1)
    one.raw(JSON.stringify({ type: "read_file", request_id: i, session_id: "slow", path: "large.txt" }));
  await sleep(1_500);
  one.resume();
  expect(await one.closed).toBe(1006);
  expect(one.answers).toBeLessThan(100);
});

it("a server that ends closes its connections with 1001, without delay", async () => {
  const ending = await Serving.start();
  const one = await GatewayClient.connect(ending);
  const began = performance.now();
  await ending[Symbol.asyncDispose]();
  expect(await one.closed).toBe(1001);
  expect(performance.now() - began).toBeLessThan(3_000);
});
