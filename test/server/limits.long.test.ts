import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { OPERATOR, Serving } from "./serving.ts";

/** Slow, half-open, oversized and malformed clients hold no resources, and break nothing. */

const head = (serving: Serving, line: string, more = ""): string =>
  `${line} HTTP/1.1\r\nHost: 127.0.0.1:${serving.port}\r\nAuthorization: Bearer ${OPERATOR}\r\n${more}`;

/** Checks that the server still answers others. */
async function isWell(serving: Serving): Promise<void> {
  expect((await serving.ask("/v1/me")).status).toBe(200);
}

function connected(serving: Serving): Promise<Socket> {
  const { promise, resolve } = Promise.withResolvers<Socket>();
  const socket = connect(serving.port, "127.0.0.1", () => resolve(socket));
  // A socket that is not read does not end.
  socket.on("error", () => undefined).resume();
  return promise;
}

function closed(socket: Socket): Promise<void> {
  return socket.closed ? Promise.resolve() : new Promise((done) => socket.once("close", () => done()));
}

describe("slow clients", () => {
  it("are cut off if their headers do not come in time", async () => {
    await using serving = await Serving.start({ limits: { headersMs: 200 } });
    const half = await serving.raw(head(serving, "GET /v1/me"), { ms: 5_000 });
    expect(half.closed).toBe(true);
    const silent = await connected(serving);
    silent.write("G");
    await closed(silent);
    await isWell(serving);
  });

  it("are cut off if they do not read answers of JSON", async () => {
    await using serving = await Serving.start({ limits: { slowMs: 500 } });
    const token = serving.token("reader");
    const size = (await serving.ask("/v1/openapi.json")).bytes.length;
    const socket = connect(serving.port, "127.0.0.1");
    const ended = new Promise((done) => socket.once("close", done));
    socket.on("error", () => undefined);
    // More than the buffers of the system hold.
    const one = `GET /v1/openapi.json HTTP/1.1\r\nHost: 127.0.0.1:${serving.port}\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    socket.write(one.repeat(Math.ceil((24 * 1024 ** 2) / size)));
    const goingOn = async (): Promise<number> =>
      Number(/^chronicle_open_requests (\d+)$/m.exec((await serving.ask("/metrics")).text)?.[1]);
    await expect.poll(goingOn, { timeout: 20_000 }).toBeGreaterThan(1);
    await expect.poll(goingOn, { timeout: 20_000 }).toBe(1);
    socket.resume();
    await ended;
    expect(socket.bytesRead).toBeLessThan(24 * 1024 ** 2);
    await isWell(serving);
  });

  it("are cut off in the middle of JSON", async () => {
    await using serving = await Serving.start({ limits: { bodyMs: 200 } });
    const more = "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    const { closed: isClosed } = await serving.raw(head(serving, "POST /v1/workspaces", more), { ms: 5_000 });
    expect(isClosed).toBe(true);
    expect(await serving.store.workspaces()).toEqual([]);
  });

  it("are cut off in the middle of an upload, and nothing is written", async () => {
    await using serving = await Serving.start({ limits: { slowMs: 150, slowBytes: 1_000 } });
    await serving.create("w");
    const line = "PUT /v1/workspaces/w/files/a.bin";
    const { closed: isClosed } = await serving.raw(head(serving, line, "Content-Length: 100000\r\n\r\nhalf"), {
      ms: 5_000,
    });
    expect(isClosed).toBe(true);
    expect((await serving.read("w", "a.bin")).status).toBe(404);
    expect(serving.diagnostics()).toBe("");
  });

  it("may take long for an upload that makes progress", async () => {
    await using serving = await Serving.start({ limits: { slowMs: 150, slowBytes: 1_000 } });
    await serving.create("w");
    const socket = await connected(serving);
    socket.write(
      head(serving, "PUT /v1/workspaces/w/files/a.bin", "Content-Length: 20000\r\nConnection: close\r\n\r\n"),
    );
    for (let n = 0; n < 10; n += 1) {
      socket.write("x".repeat(2_000));
      await delay(50);
    }
    socket.resume();
    await closed(socket);
    expect((await serving.read("w", "a.bin")).bytes).toHaveLength(20_000);
  });

  it("are cut off if they do not read the content that they asked for", async () => {
    await using serving = await Serving.start({ limits: { slowMs: 200 } });
    await serving.create("w");
    await serving.put("w", "large", Buffer.alloc(32 * 1024 ** 2, 1));
    const socket = await connected(serving);
    socket.pause();
    socket.write(head(serving, "GET /v1/workspaces/w/files/large", "\r\n"));
    await delay(1_500);
    let size = 0;
    socket.on("data", (piece: Buffer) => (size += piece.length)).resume();
    await closed(socket);
    expect(size).toBeLessThan(32 * 1024 ** 2);
  });

  it("are cut off between two requests", async () => {
    await using serving = await Serving.start({ limits: { keepAliveMs: 100 } });
    const started = Date.now();
    const { text, closed: isClosed } = await serving.raw(head(serving, "GET /v1/me", "\r\n"), { ms: 8_000 });
    expect([isClosed, text.startsWith("HTTP/1.1 200")]).toEqual([true, true]);
    expect(Date.now() - started).toBeLessThan(5_000);
  });
});

describe("clients that go away", () => {
  it("in the middle of an upload leave nothing behind", async () => {
    await using serving = await Serving.start();
    await serving.create("w");
    for (const size of [10, 3 * 1024 ** 2]) {
      const socket = await connected(serving);
      socket.write(head(serving, "PUT /v1/workspaces/w/files/a.bin", "Content-Length: 9000000\r\n\r\n"));
      socket.write("x".repeat(size));
      await delay(100);
      socket.destroy();
      await delay(50);
    }
    expect((await serving.read("w", "a.bin")).status).toBe(404);
    expect((await serving.ask("/v1/workspaces/w/head")).json()).toMatchObject({ seq: 3 });
    expect(serving.diagnostics()).toBe("");
  });

  it("in the middle of an answer hold nothing", async () => {
    await using serving = await Serving.start();
    await serving.create("w");
    await serving.put("w", "large", Buffer.alloc(24 * 1024 ** 2, 1));
    for (let n = 0; n < 5; n += 1) {
      const socket = await connected(serving);
      socket.write(head(serving, "GET /v1/workspaces/w/files/large", "\r\n"));
      await new Promise((done) => socket.once("data", done));
      socket.destroy();
    }
    await isWell(serving);
    expect(serving.diagnostics()).toBe("");
  });
});

describe("what is too large or too many", () => {
  it("is refused before it is read", async () => {
    await using serving = await Serving.start({ limits: { uploadBytes: 1_000 } });
    await serving.create("w");
    const json = await serving.send("/v1/workspaces", { name: "x".repeat(1024 ** 2) });
    expect([json.status, json.json()["code"]]).toEqual([413, "LIMIT_EXCEEDED"]);
    const upload = await serving.put("w", "a", "x".repeat(2_000));
    expect([upload.status, upload.json()["code"]]).toEqual([413, "LIMIT_EXCEEDED"]);
    expect((await serving.read("w", "a")).status).toBe(404);
    const chunked = head(
      serving,
      "PUT /v1/workspaces/w/files/b",
      "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
    );
    const pieces = `400\r\n${"x".repeat(1024)}\r\n`.repeat(4);
    expect((await serving.raw(`${chunked}${pieces}0\r\n\r\n`)).text).toMatch(/^HTTP\/1\.1 413 /);
    await isWell(serving);
  });

  it("is refused in headers and paths", async () => {
    await using serving = await Serving.start();
    const { text, closed: isClosed } = await serving.raw(
      head(serving, "GET /v1/me", `X: ${"y".repeat(20_000)}\r\n\r\n`),
    );
    expect([isClosed, text === "" || text.startsWith("HTTP/1.1 431")]).toEqual([true, true]);
    await serving.create("w");
    expect((await serving.read("w", "x/".repeat(3_000) + "y")).status).toBeGreaterThanOrEqual(400);
    await isWell(serving);
  });

  it("of connections at once: the oldest one that asks for nothing is closed", async () => {
    await using serving = await Serving.start({ limits: { connections: 3 } });
    const idle = await connected(serving);
    await delay(50);
    const later = [await connected(serving), await connected(serving)];
    await delay(50);
    await isWell(serving);
    await closed(idle);
    expect(later.map((socket) => socket.closed)).toEqual([false, false]);
    for (const socket of later) socket.destroy();
  });

  it("of connections at once: the new one is closed if all others are at work", async () => {
    const all = { token: 1, role: 1 };
    const atOnce = { reader: all, agent: all, operator: all, all: 1 };
    await using serving = await Serving.start({ limits: { connections: 3, atOnce } });
    await serving.create("w");
    const held = await Promise.all([connected(serving), connected(serving), connected(serving)]);
    // Each connection gets 100 Continue as soon as it is at work.
    const goesOn = held.map((socket) => once(socket, "data"));
    for (const socket of held)
      socket.write(
        head(serving, "PUT /v1/workspaces/w/files/a", "Expect: 100-continue\r\nContent-Length: 9\r\n\r\nhalf"),
      );
    for (const [data] of await Promise.all(goesOn)) expect(String(data)).toMatch(/^HTTP\/1.1 100 /);
    const { text, closed: isClosed } = await serving.raw(head(serving, "GET /v1/me", "\r\n"), { ms: 3_000 });
    expect([isClosed, text]).toEqual([true, ""]);
    for (const socket of held) socket.destroy();
    await delay(50);
    await isWell(serving);
  });

  it("of requests with one token: they get 429, and the time to wait", async () => {
    const rate = { burst: 5, perSecond: 1 };
    await using serving = await Serving.start({
      limits: { rates: { reader: rate, agent: rate, operator: { burst: 100, perSecond: 100 } } },
    });
    const token = serving.token("reader");
    const statuses: number[] = [];
    for (let n = 0; n < 7; n += 1) statuses.push((await serving.ask("/v1/me", { token })).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
    const { headers, json } = await serving.ask("/v1/me", { token });
    expect([json()["code"], Number(headers["retry-after"])]).toEqual(["RATE_LIMITED", 1]);
    expect((await serving.ask("/v1/me", { token: serving.token("reader") })).status).toBe(200);
  });
});

describe("streams of events", () => {
  it("are limited for one token, and a place is free again when one ends", async () => {
    await using serving = await Serving.start({ limits: { streams: 2 } });
    await serving.create("w");
    const token = serving.token("reader");
    const follow = async (): Promise<{ socket: Socket; status: string }> => {
      const socket = await connected(serving);
      const line = `GET /v1/workspaces/w/events HTTP/1.1\r\nHost: 127.0.0.1:${serving.port}\r\n`;
      const begun = new Promise<Buffer>((done) => socket.once("data", done));
      socket.write(`${line}Authorization: Bearer ${token}\r\n\r\n`);
      return { socket, status: (await begun).toString().slice(9, 12) };
    };
    const first = await follow();
    const second = await follow();
    const third = await serving.ask("/v1/workspaces/w/events", { token });
    expect([first.status, second.status, third.status, third.json()["code"]]).toEqual([
      "200",
      "200",
      429,
      "RATE_LIMITED",
    ]);
    expect((await serving.ask("/v1/workspaces/w/events", { method: "HEAD" })).status).toBe(200);
    first.socket.destroy();
    await expect.poll(async () => (await follow()).status).toBe("200");
    expect((await follow()).status).toBe("429");
  });
});

describe("what is malformed", () => {
  const BAD = [
    "GARBAGE\r\n\r\n",
    "GET / HTTP/9.9\r\n\r\n",
    "POST /v1/workspaces HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /v1/workspaces HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "POST /v1/workspaces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "GET /\u0000 HTTP/1.1\r\nHost: x\r\n\r\n",
    "\u0016\u0003\u0001\u0002",
  ];

  it.each(BAD)("breaks nothing: %o", async (bytes) => {
    await using serving = await Serving.start({ limits: { headersMs: 300 } });
    const { text, closed: isClosed } = await serving.raw(bytes, { ms: 5_000 });
    expect([isClosed, text === "" || /^HTTP\/1\.1 4\d\d /.test(text)]).toEqual([true, true]);
    await isWell(serving);
    expect(serving.diagnostics()).toBe("");
  });

  it.each([
    ["{", "application/json", 400],
    ["", "application/json", 400],
    ['{"__proto__": {"x": 1}}', "application/json", 400],
    ["[".repeat(100_000), "application/json", 400],
    ["name=x", "application/x-www-form-urlencoded", 415],
    ["{}", "text/plain", 415],
    ["null", "application/json", 400],
    ['{"name": 7}', "application/json", 400],
    ['{"nmae": "x"}', "application/json", 400],
  ])("is refused with a problem: %o as %s", async (body, type, status) => {
    await using serving = await Serving.start();
    const answer = await serving.ask("/v1/workspaces", { method: "POST", body, headers: { "content-type": type } });
    expect([answer.status, answer.json()["code"]]).toEqual([status, "USAGE"]);
    expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json/);
    expect(answer.text.length).toBeLessThan(1_000);
    expect(await serving.store.workspaces()).toEqual([]);
  });

  it("answers each of several requests that come at once, in their order", async () => {
    await using serving = await Serving.start();
    const one = (path: string) => head(serving, `GET ${path}`, "\r\n");
    const last = head(serving, "GET /v1/me", "Connection: close\r\n\r\n");
    const { text } = await serving.raw(one("/v1/me") + one("/nowhere") + one("/healthz") + last);
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(["200", "404", "200", "200"]);
  });

  it("lists the methods that a path takes", async () => {
    await using serving = await Serving.start();
    const { status, headers } = await serving.ask("/v1/workspaces", { method: "PATCH" });
    expect([status, headers["allow"]]).toEqual([405, "GET, HEAD, POST"]);
  });
});
