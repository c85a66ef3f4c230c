import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "../../src/client/create-client.ts";
import { type Asking, OPERATOR, Serving } from "./serving.ts";

/** Which requests are let in, on every surface: files, health, hooks, and an upgrade to another protocol. */

let serving: Serving;
const SHARED = "https://page.example";

beforeAll(async () => {
  serving = await Serving.start({ sharedWith: [SHARED] });
});
afterAll(() => serving[Symbol.asyncDispose]());

const UPGRADE = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};
const SURFACES: readonly (readonly [string, string, Asking])[] = [
  ["files", "/v1/workspaces", {}],
  ["health", "/healthz", {}],
  ["readiness", "/readyz", {}],
  ["hooks", "/hooks/claude", { method: "POST", body: "{}" }],
  ["nothing", "/nowhere", {}],
  ["upgrade", "/v1/gateway", { headers: UPGRADE }],
];

/** The statuses of a request that is let in, whether its path has something or not. */
const LET_IN = [101, 200, 404];

describe.each(SURFACES)("%s", (_name, path, asking) => {
  const ask = (headers: Record<string, string>, more: Asking = {}) =>
    serving.ask(path, { ...asking, ...more, headers: { ...asking.headers, ...headers } });

  it.each(["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example", "[::1]:80", "0.0.0.0"])(
    "is not served to the host %o",
    async (host) => {
      expect((await ask({ host })).status).toBe(421);
    },
  );

  it("is served under its own names", async () => {
    for (const host of [`127.0.0.1:${serving.port}`, `LOCALHOST:${serving.port}`]) {
      expect(LET_IN).toContain((await ask({ host })).status);
    }
  });

  it.each(["null", "http://evil.example", "http://127.0.0.1", "file://", `https://127.0.0.1.evil.example`])(
    "is not served to the origin %o",
    async (origin) => {
      const { status, headers } = await ask({ origin });
      expect(status).toBe(403);
      expect(headers["access-control-allow-origin"]).toBeUndefined();
    },
  );

  it("is not served to another site, though it names no origin", async () => {
    expect((await ask({ "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect(LET_IN).toContain((await ask({ "sec-fetch-site": "same-origin" })).status);
  });

  it("is not served with a token in the address", async () => {
    for (const query of [`?token=${OPERATOR}`, `?x=1&access_token=y`, `?q=${serving.token("reader")}`]) {
      expect((await serving.ask(path + query, asking)).status).toBe(400);
    }
    expect(serving.diagnostics()).not.toMatch(/chr_|operator-token/);
  });

  it("is not served by a Unix socket to a page", async () => {
    expect((await ask({ origin: "http://localhost" }, { bySocket: true })).status).toBe(403);
    expect((await ask({ host: "anything" }, { bySocket: true })).status).not.toBe(421);
  });
});

it.each(["Host: \r\n", "", "Host: evil.example\r\nHost: 127.0.0.1\r\n"])(
  "a request without exactly one good host is refused: %o",
  async (host) => {
    const { text } = await serving.raw(`GET /healthz HTTP/1.1\r\n${host}Connection: close\r\n\r\n`);
    expect(text).toMatch(/^HTTP\/1\.1 4(00|21) /);
  },
);

it("takes the host from its header, whatever stands in the request line", async () => {
  const ask = (host: string) =>
    serving.raw(`GET http://evil.example/healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  expect((await ask("evil.example")).text).toMatch(/^HTTP\/1\.1 421 /);
  expect((await ask(`127.0.0.1:${serving.port}`)).text).toMatch(/^HTTP\/1\.1 401 /);
});

describe("tokens", () => {
  const WRONG = ["", "Bearer", "Bearer wrong", `Basic ${OPERATOR}`, `Bearer ${OPERATOR}x`, `Bearer ${OPERATOR} x`];

  it("are needed for everything but health", async () => {
    const status = async (path: string, asking: Asking = {}) =>
      (await serving.ask(path, { token: null, ...asking })).status;
    expect(await status("/healthz")).toBe(200);
    expect(await status("/readyz")).toBe(200);
    for (const path of ["/v1/workspaces", "/v1/me", "/nowhere", "/hooks/claude", "/healthz/", "//healthz"]) {
      expect(await status(path)).toBe(401);
    }
    expect(await status("/v1/gateway", { headers: UPGRADE })).toBe(401);
  });

  it("must be right", async () => {
    await using other = await Serving.start();
    for (const authorization of WRONG) {
      const { status, headers, text } = await other.ask("/v1/me", { token: null, headers: { authorization } });
      expect(status).toBe(401);
      expect(headers["www-authenticate"]).toBe("Bearer");
      expect(text).not.toContain(OPERATOR);
    }
  });

  it("cannot be guessed for long, and valid ones still work meanwhile", async () => {
    await using other = await Serving.start();
    const guess = async (n: number) => (await other.ask("/v1/me", { token: `wrong-${n}` })).status;
    const statuses: number[] = [];
    for (let n = 0; n < 14; n += 1) statuses.push(await guess(n));
    expect(statuses.slice(0, 10)).toEqual(Array(10).fill(401));
    expect(statuses.slice(11)).toEqual([429, 429, 429]);
    // This holds for tokens that were not seen before, too: behind a proxy, all clients have one address.
    expect((await other.ask("/v1/me")).status).toBe(200);
    expect((await other.ask("/v1/me", { token: other.token("reader") })).status).toBe(200);
  });

  it("end when they are revoked, and when their time is over", async () => {
    await using other = await Serving.start();
    const token = other.token("reader");
    const past = other.token("reader", null, new Date(Date.now() - 1).toISOString());
    expect((await other.ask("/v1/me", { token })).json()).toMatchObject({ role: "reader", name: "reader t1" });
    expect((await other.ask("/v1/me", { token: past })).status).toBe(401);
    other.revoke("t1");
    expect((await other.ask("/v1/me", { token })).status).toBe(401);
  });

  it("are not needed on the owner's socket", async () => {
    const { status, json } = await serving.ask("/v1/me", { bySocket: true });
    expect([status, json()]).toEqual([
      200,
      { version: "0.1.0", role: "operator", workspaces: null, default_workspace: null },
    ]);
  });

  it("give no access to hooks, which are the owner's", async () => {
    expect((await serving.ask("/hooks/claude", { method: "POST", body: "{}" })).status).toBe(404);
  });

  it("do not let a newer version end the server", async () => {
    const headers = { "x-chronicle-version": "99.0.0" };
    expect((await serving.ask("/healthz", { token: null, headers })).status).toBe(200);
    expect((await serving.ask("/healthz")).json()).toEqual({ ok: true });
  });
});

/** The headers that CORS always lets a page read. */
const SAFELISTED = ["cache-control", "content-language", "content-length", "content-type", "expires", "last-modified"];
const listed = (value: string | null): string[] => (value ?? "").split(",").map((name) => name.trim().toLowerCase());

/** Fetches as a browser does for a page of the shared origin: with a preflight, and only with exposed headers. */
async function browserFetch(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  const { method = "GET", headers = {} } = init ?? {};
  const url = new URL(input instanceof Request ? input.url : input);
  const path = `${url.pathname}${url.search}`;
  const asked = { origin: SHARED, "access-control-request-method": method };
  const { headers: may } = await serving.ask(path, { method: "OPTIONS", token: null, headers: asked });
  const allowed = listed(String(may["access-control-allow-headers"]));
  const own = [...new Headers(headers).keys()].filter((name) => !allowed.includes(name));
  if (own.length > 0) throw new TypeError(`the preflight allows no ${own.join()}`);
  const response = await fetch(input, {
    ...init,
    headers: { ...Object.fromEntries(new Headers(headers)), origin: SHARED },
  });
  const shown = [...SAFELISTED, ...listed(response.headers.get("access-control-expose-headers"))];
  const seen = [...response.headers].filter(([name]) => shown.includes(name));
  return new Response(response.body, { status: response.status, headers: seen });
}

describe("pages of an allowed origin", () => {
  it("may ask and read, after a preflight without a token", async () => {
    const asked = { origin: SHARED, "access-control-request-method": "PUT", "sec-fetch-site": "cross-site" };
    const preflight = await serving.ask("/v1/workspaces", { method: "OPTIONS", token: null, headers: asked });
    expect(preflight.status).toBe(204);
    expect(preflight.headers["access-control-allow-origin"]).toBe(SHARED);
    expect(preflight.headers["access-control-allow-headers"]).toContain("if-match");
    const headers = { origin: SHARED, "sec-fetch-site": "cross-site" };
    const answer = await serving.ask("/v1/workspaces", { headers });
    expect([answer.status, answer.headers["access-control-allow-origin"], answer.headers.vary]).toEqual([
      200,
      SHARED,
      "origin",
    ]);
    for (const name of ["etag", "chronicle-mtime-ms", "chronicle-mtime-ns"])
      expect(listed(String(answer.headers["access-control-expose-headers"]))).toContain(name);
    expect((await serving.ask("/v1/workspaces", { token: null, headers })).status).toBe(401);
  });

  it("read and write by the client, with all that it sends and reads", async () => {
    const client = createClient({
      url: `http://127.0.0.1:${serving.port}`,
      token: OPERATOR,
      fetch: browserFetch,
      commandHints: true,
    });
    const { workspace } = await client.store.create({ name: "of-a-page" });
    await workspace
      .as({ actor: "page", client: "editor", role: "agent" })
      .putFile("a.txt", new TextEncoder().encode("x"));
    expect(await (await client.readFile("of-a-page", "a.txt")).text()).toBe("x");
    expect(await (await client.fileAtIteration("of-a-page", "a.txt", 1)).text()).toBe("x");
  });

  it("are not served under another host", async () => {
    const headers = { origin: SHARED, host: "evil.example", "access-control-request-method": "GET" };
    expect((await serving.ask("/v1/workspaces", { method: "OPTIONS", token: null, headers })).status).toBe(421);
  });

  it("are not those of another origin", async () => {
    const headers = { origin: "https://other.example", "access-control-request-method": "GET" };
    const { status, headers: got } = await serving.ask("/v1/workspaces", { method: "OPTIONS", token: null, headers });
    expect([status, got["access-control-allow-origin"]]).toEqual([403, undefined]);
  });
});
