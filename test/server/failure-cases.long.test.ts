import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Asking, OPERATOR, Serving } from "./serving.ts";

/** Peers and bytes that a server must survive, by the numbers of the list of failures. Other files here have more. */

let serving: Serving;
let folder: string;

beforeAll(async () => {
  serving = await Serving.start({ folder: true, limits: { headersMs: 3_000 } });
  folder = (await serving.ask("/v1/me")).json<{ default_workspace: string }>().default_workspace;
  for (const name of ["mine", "theirs"]) await serving.create(name);
});
afterAll(() => serving[Symbol.asyncDispose]());

const head = (line: string, more = "", token = OPERATOR): string =>
  `${line} HTTP/1.1\r\nHost: 127.0.0.1:${serving.port}\r\nAuthorization: Bearer ${token}\r\n${more}`;

function connected(port = serving.port): Promise<Socket> {
  const { promise, resolve } = Promise.withResolvers<Socket>();
  const socket = connect(port, "127.0.0.1", () => resolve(socket));
  socket.on("error", () => undefined);
  return promise;
}

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");

describe("H1, H2, H3, P6: on every surface", () => {
  const WEBSOCKET = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "x3JJHMbDL1EzLkh9GBhXDw==",
  };
  const SURFACES: readonly (readonly [string, string, Asking])[] = [
    ["a listing", "/v1/workspaces/mine/files", {}],
    ["a write", "/v1/workspaces/mine/files/forged.txt", { method: "PUT", body: "x" }],
    ["a deletion", "/v1/workspaces/mine", { method: "DELETE" }],
    ["a question about a file", "/v1/workspaces/mine/files/a/history", { method: "HEAD" }],
    ["events", "/v1/workspaces/mine/events", {}],
    ["messages", "/v1/gateway", { headers: WEBSOCKET }],
    ["metrics", "/metrics", {}],
    ["the document", "/v1/openapi.json", {}],
    ["a preflight", "/v1/workspaces", { method: "OPTIONS", headers: { "access-control-request-method": "PUT" } }],
  ];
  const FORGED: readonly (readonly [string, Asking, number])[] = [
    ["under a foreign name that leads to this machine", { headers: { host: "evil.example" } }, 421],
    ["under another port", { headers: { host: "127.0.0.1:1" } }, 421],
    ["to a page of another origin", { headers: { origin: "http://evil.example" } }, 403],
    ["to a page with the origin null", { headers: { origin: "null" } }, 403],
    ["to a form of another site", { headers: { "sec-fetch-site": "cross-site" } }, 403],
    ["without a token", { token: null }, 401],
    ["with a wrong token", { token: `${OPERATOR.slice(0, -1)}x` }, 401],
  ];

  it.each(
    SURFACES.flatMap(([surface, ...rest]) => FORGED.map(([way, ...forged]) => [surface, way, rest, forged] as const)),
  )("%s is refused %s", async (_surface, _way, [path, asking], [forged, status]) => {
    const answer = await serving.ask(path, { ...asking, ...forged, headers: { ...asking.headers, ...forged.headers } });
    // After ten wrong tokens in a row, the answer is 429.
    expect([status, status === 401 ? 429 : status]).toContain(answer.status);
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    expect(answer.text).not.toContain(OPERATOR);
  });

  it("none of these requests has written a file", async () => {
    const { files } = (await serving.ask("/v1/workspaces/mine/files")).json<{ files: unknown[] }>();
    expect(files).toEqual([]);
  });
});

describe("H4, A3: names and contents", () => {
  it.each(["--force", "$(touch x)", "`id`", "-rf", "\u001b[31mred\u001b[0m", "a\nb", "con", "*", "~"])(
    "%o is a name like any other",
    async (name) => {
      const path = `names/${encodeURIComponent(name)}`;
      for (const workspace of ["mine", folder]) {
        expect((await serving.put(workspace, path, name)).status).toBe(200);
        const { text, headers } = await serving.read(workspace, path);
        expect([text, headers["content-disposition"]]).toEqual([
          name,
          expect.stringMatching(/^attachment; filename="[\x20-\x7e]*"/),
        ]);
        const listed = await serving.ask(`/v1/workspaces/${workspace}/files?path=names`);
        expect(listed.json<{ files: { path: string }[] }>().files.map((one) => one.path)).toContain(`names/${name}`);
        // The answer is JSON: no byte of it controls a terminal, and a browser takes it for nothing else.
        expect(listed.text).not.toMatch(/[\u0000-\u001f]/);
        expect(listed.headers["content-type"]).toMatch(/^application\/json/);
      }
      expect(readFileSync(join(serving.base, "project", "names", name), "utf8")).toBe(name);
    },
  );

  it("a refusal is JSON, and does not repeat markup from the address", async () => {
    const { headers, text } = await serving.ask("/v1/workspaces/%3Cimg%20src=x%20onerror=alert(1)%3E/files");
    expect([headers["content-type"], headers["x-content-type-options"]]).toEqual([
      expect.stringMatching(/^application\/problem\+json/),
      "nosniff",
    ]);
    expect(text).not.toContain("<img");
  });
});

describe("H5: paths in an address", () => {
  it.each([
    "/v1/../v1/me",
    "/v1/./me",
    "//v1/me",
    "/v1//me",
    "/v1/me/",
    "/V1/me",
    "/v1/me%2f",
    "/v1%2fme",
    "/v1/me;x=1",
    "/%2e%2e/v1/me",
    "/v1/me%00",
  ])("%s is not another address of the same", async (path) => {
    expect([400, 404]).toContain((await serving.ask(path)).status);
  });

  it("no path leads out of the folder of a workspace", async () => {
    writeFileSync(join(serving.base, "outside.txt"), "outside");
    for (const path of [
      "..%2foutside.txt",
      "%2e%2e/outside.txt",
      encodeURIComponent(join(serving.base, "outside.txt")),
    ]) {
      for (const method of ["GET", "PUT", "DELETE"]) {
        const answer = await serving.ask(
          `/v1/workspaces/${folder}/files/${path}?fresh=true`.replace(method === "GET" ? "" : "?fresh=true", ""),
          {
            method,
            ...(method === "PUT" ? { body: "x" } : {}),
          },
        );
        expect([path, method, answer.status]).toEqual([path, method, 400]);
      }
    }
    expect(readFileSync(join(serving.base, "outside.txt"), "utf8")).toBe("outside");
  });
});

describe("H6: slow, idle and strange peers", () => {
  it("a thousand idle connections keep nobody out, and are closed", async () => {
    const idle = await Promise.all(Array.from({ length: 1_000 }, () => connected()));
    for (const [n, socket] of idle.entries()) if (n % 2 === 0) socket.write("GET /v1/me HT");
    for (let n = 0; n < 20; n += 1) {
      expect((await serving.ask("/v1/me")).status).toBe(200);
      expect((await serving.put("mine", `busy-${n}`, "x")).status).toBe(200);
    }
    const open = idle.filter((socket) => !socket.closed);
    await Promise.all(open.map((socket) => once(socket.resume(), "close")));
  });

  it("a client that does not read its events is cut off, and there is no gap in the events that it got", async () => {
    await using other = await Serving.start({ limits: { slowMs: 300 } });
    await other.create("w");
    const lines = [
      "GET /v1/workspaces/w/events?after=0 HTTP/1.1",
      `Host: 127.0.0.1:${other.port}`,
      `Authorization: Bearer ${OPERATOR}`,
    ];
    const slow = await connected(other.port);
    slow.pause();
    slow.write(`${lines.join("\r\n")}\r\n\r\n`);
    const message = "x".repeat(9_000);
    for (let n = 0; n < 600; n += 1) await other.send("/v1/workspaces/w/snapshots", { message: `${n} ${message}` });
    await delay(800);
    let text = "";
    slow.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    if (!slow.closed) await once(slow.resume(), "close");
    const seqs = [...text.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq)).slice(1);
    expect(seqs).toEqual(seqs.map((_, i) => i + 1));
    const { seq } = (await other.ask("/v1/workspaces/w/head")).json<{ seq: number }>();
    expect(seqs.length).toBeLessThan(seq);
    expect(other.diagnostics()).toBe("");
  });

  it.each([
    ["a length beyond all numbers", head0("POST", `Content-Length: ${"9".repeat(40)}`)],
    ["a length that is no decimal number", head0("POST", "Content-Length: 1e3")],
    ["two lengths", head0("POST", "Content-Length: 1\r\nContent-Length: 2")],
    ["a chunk of 2^64 bytes", `${head0("POST", "Transfer-Encoding: chunked")}10000000000000000\r\n`],
    ["a chunk that ends nowhere", `${head0("POST", "Transfer-Encoding: chunked")}2\r\nabcd\r\n`],
    ["an unknown transfer coding", head0("POST", "Transfer-Encoding: chunked, identity")],
    ["headers of a megabyte", head0("GET", `X: ${"y".repeat(1_000_000)}`)],
    ["ten thousand headers", head0("GET", Array.from({ length: 10_000 }, (_, n) => `X-${n}: y`).join("\r\n"))],
    ["a folded header", head0("GET", "X: a\r\n b")],
    ["a NUL in a header", head0("GET", "X: a\u0000b")],
    ["a line break alone", head0("GET", "X: a\nHost: evil.example")],
    ["another request in the body's place", `${head0("GET", "Content-Length: 0")}GARBAGE\r\n\r\n`],
  ] as const)("%s ends its connection, without a 5xx status or a stack", async (_name, make) => {
    const bytes = make.replaceAll("PORT", String(serving.port));
    const { text, closed } = await serving.raw(bytes, { ms: 8_000 });
    expect(closed).toBe(true);
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
    expect(statuses.filter((status) => status >= 500)).toEqual([]);
    expect(text).not.toMatch(/\n\s+at /);
    expect((await serving.ask("/v1/me")).status).toBe(200);
  });

  it.each([
    ["nested a hundred thousand deep", `{"name":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
    ["nested, as a record that takes anything", "record"],
    [
      "of a hundred thousand keys",
      JSON.stringify(Object.fromEntries(Array.from({ length: 80_000 }, (_, n) => [`k${n}`, 0]))),
    ],
    ["with a key twice", '{"name":"a","name":"../b"}'],
    ["that is not UTF-8", Buffer.from([0x7b, 0x22, 0x6e, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ["with half a surrogate", '{"name":"\\ud800"}'],
    ["with a NUL", '{"name":"a\\u0000b"}'],
    ["with a number beyond numbers", `{"name":1e${"9".repeat(300)}}`],
    ["of a megabyte in one name", JSON.stringify({ name: "x".repeat(1_000_000) })],
  ])("JSON %s is refused within 3 seconds", async (name, body) => {
    const began = performance.now();
    const isRecord = body === "record";
    const given = isRecord ? `${'{"a":'.repeat(60_000)}1${"}".repeat(60_000)}` : body;
    const path = isRecord ? "/v1/workspaces/mine/record?id=deep" : "/v1/workspaces";
    const answer = await serving.ask(path, {
      method: isRecord ? "PUT" : "POST",
      body: given,
      headers: { "content-type": "application/json" },
    });
    expect([name, answer.status]).toEqual([name, 400]);
    expect(answer.text.length).toBeLessThan(1_500);
    expect(performance.now() - began).toBeLessThan(3_000);
  });

  it("a query that is as long as a head may be, or longer, is refused within 2 seconds", async () => {
    const began = performance.now();
    const many = await serving.ask(`/v1/workspaces?${"a=&".repeat(4_000)}`);
    const long = await serving.ask(`/v1/workspaces?cursor=${"%41".repeat(4_000)}`);
    const beyond = await serving.raw(head(`GET /v1/workspaces?cursor=${"a".repeat(20_000)}`, "\r\n"));
    expect([many.status, long.status, beyond.text.slice(0, 12)]).toEqual([400, 400, "HTTP/1.1 431"]);
    expect(performance.now() - began).toBeLessThan(2_000);
  });
});

/** A request whose port is filled in when it is sent. */
function head0(method: string, headers: string): string {
  const path = method === "GET" ? "/v1/me" : "/v1/workspaces";
  const type = method === "GET" ? "" : "Content-Type: application/json\r\n";
  return `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAuthorization: Bearer ${OPERATOR}\r\n${type}${headers}\r\n\r\n`;
}

describe("H8: patterns and headers that cost time elsewhere", () => {
  it("hostile globs and ignore files take less than 5 seconds", { timeout: 30_000 }, async () => {
    const evil = ["*a*a*a*a*a*a*a*a*b", "**/**/**/**/**/x", "[a-z]*".repeat(30), "(a+)+$", `${"{a,b}".repeat(20)}`];
    const began = performance.now();
    const name = `${"a".repeat(120)}c`;
    const configured = await serving.send(`/v1/workspaces/${folder}/config`, {
      excludeGlobs: evil,
      excludePatterns: evil,
    });
    writeFileSync(join(serving.base, "project", ".gitignore"), evil.join("\n"));
    expect(configured.status).toBe(200);
    expect((await serving.put(folder, `${name}/${name}`, "x")).status).toBe(200);
    expect((await serving.ask(`/v1/workspaces/${folder}/explain?path=${name}`)).status).toBe(200);
    expect((await serving.ask(`/v1/workspaces/${folder}/files?fresh=true`)).status).toBe(200);
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  it("a pattern that is no text is refused", async () => {
    const config = `/v1/workspaces/${folder}/config`;
    expect((await serving.send(config, { excludePatterns: ["\ud800"] })).status).toBe(400);
  });

  it.each([
    ["if-none-match", `${'W/"a",'.repeat(2_000)}`],
    ["range", `bytes=${"0-1,".repeat(3_000)}`],
    ["range", `bytes=${" ".repeat(10_000)}-`],
    ["authorization", `Bearer${" ".repeat(12_000)}x`],
    ["content-type", `application/json;${" ".repeat(12_000)}x`],
    ["accept", "a/b;".repeat(3_000)],
    ["last-event-id", "9".repeat(12_000)],
    ["idempotency-key", "x".repeat(12_000)],
  ])("a long %s is answered within half a second, without a 5xx status", async (header, value) => {
    await serving.put("mine", "plain.txt", "x");
    const began = performance.now();
    const { status } = await serving.read("mine", "plain.txt", { headers: { [header]: value } });
    expect(status).toBeLessThan(500);
    expect(performance.now() - began).toBeLessThan(500);
  });
});

describe("A1, A2: one token, one workspace, no more", () => {
  it("a token for one workspace gets no content, cursor, id or event of another one", async () => {
    const token = serving.token("agent", ["mine"]);
    await serving.put("theirs", "secret.txt", "their secret");
    await serving.put("mine", "own.txt", "own");
    const ask = (path: string, headers: Record<string, string> = {}) => serving.ask(path, { token, headers });
    const theirs = (await serving.ask("/v1/workspaces/theirs")).json<{ id: string }>().id;
    for (const id of ["theirs", theirs]) expect((await ask(`/v1/workspaces/${id}/files/secret.txt`)).status).toBe(404);
    expect((await ask(`/v1/workspaces/mine/blobs/${sha("their secret")}`)).status).toBe(404);
    expect((await ask(`/v1/workspaces/mine/blob?hash=${sha("their secret")}`)).status).toBe(404);
    for (const path of [`@${theirs}:secret.txt`, "@theirs:secret.txt", "..%2ftheirs%2fsecret.txt"]) {
      expect((await ask(`/v1/workspaces/mine/files/${path}`)).status).toBeGreaterThanOrEqual(400);
    }
    const events = (await serving.ask("/v1/workspaces/theirs/log")).json<{ items: { record_id: string }[] }>().items;
    for (const { record_id: record } of events) {
      const id = record.split(":")[1] ?? "";
      for (const what of ["actions", "sessions"])
        expect((await ask(`/v1/workspaces/mine/${what}/${id}`)).status).toBe(404);
      expect(
        (await serving.send("/v1/workspaces/mine/restore", { moment: id, dry_run: true }, { token })).status,
      ).not.toBe(200);
    }
    const page = (await serving.ask("/v1/workspaces?limit=1")).json<{ next: string }>();
    expect((await ask(`/v1/workspaces?cursor=${page.next}`)).text).not.toContain(theirs);
    expect((await serving.send("/v1/workspaces", { from: { workspace: "theirs" } }, { token })).status).toBe(403);
    expect((await ask("/v1/workspaces/mine/du")).status).toBe(403);
    const beyond = await ask("/v1/workspaces/mine/events", { "last-event-id": "1000000" });
    expect(beyond.text).not.toContain("secret");
    expect(beyond.status).toBeGreaterThanOrEqual(400);
  });

  it("an idempotency key of one workspace or caller gives no answer of another one", async () => {
    const key = { "idempotency-key": "the-same" };
    const token = serving.token("agent", ["mine"]);
    await serving.put("theirs", "keyed.txt", "theirs", { headers: key });
    const own = await serving.put("mine", "keyed.txt", "mine", { headers: key, token });
    expect([own.status, (await serving.read("mine", "keyed.txt")).text]).toEqual([200, "mine"]);
    const snapshot = await serving.send("/v1/workspaces/theirs/snapshots", { message: "theirs" }, { headers: key });
    expect(snapshot.status).toBe(201);
    const again = await serving.send("/v1/workspaces/mine/snapshots", { message: "mine" }, { headers: key, token });
    expect([again.status, again.json()["message"]]).toEqual([201, "mine"]);
  });

  it("a file outside of the workspace is neither shown, nor kept, nor put back", async () => {
    const secret = join(serving.base, "outside.txt");
    for (const token of [serving.token("agent"), serving.token("operator", [folder])]) {
      writeFileSync(secret, "top secret");
      const asked = { type: "write_file", payload: { path: secret } };
      const begin = (more: object) =>
        serving.send(`/v1/workspaces/${folder}/actions`, { ...asked, ...more }, { token });
      const refused = await begin({});
      expect([refused.status, refused.json()["code"]]).toEqual([409, "REFUSED"]);
      const begun = await begin({ on_failure: "warn" });
      const action = begun.json<{ id: string; coverage: { complete: boolean } }>();
      expect([begun.status, action.coverage.complete]).toEqual([201, false]);
      writeFileSync(secret, "changed");
      expect(refused.text + begun.text).not.toContain(sha("top secret"));
      await serving.send(`/v1/workspaces/${folder}/actions/${action.id}/finish`, {}, { token });
      const log = await serving.ask(`/v1/workspaces/${folder}/log?prefix=outside`, { token });
      expect(log.json()["items"]).toEqual([]);
      const back = { outside: [secret] };
      expect(
        (await serving.send(`/v1/workspaces/${folder}/actions/${action.id}/rollback`, back, { token })).status,
      ).toBe(403);
      expect(readFileSync(secret, "utf8")).toBe("changed");
    }
  });
});

it("H7: after all of this, the diagnostics have only refusals, and every history verifies", async () => {
  const lines = serving.diagnostics().split("\n");
  expect(lines.filter((line) => line !== "" && !line.includes(" refused: "))).toEqual([]);
  expect((await serving.ask("/metrics")).text).toMatch(/^chronicle_errors_total 0$/m);
  for (const name of ["mine", "theirs", folder]) {
    expect((await serving.ask(`/v1/workspaces/${name}/verify`)).json()).toMatchObject({ problems: [] });
  }
});
