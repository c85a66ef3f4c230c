import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PageFiles } from "../../src/server/page/page-routes.ts";
import { type Asking, OPERATOR, Serving } from "./serving.ts";

/** The page is offered on its ports only, and gives nothing away without a code or a token. */

const SCRIPT = "console.log('the page')\n".repeat(50);
const FILES: ReadonlyMap<string, Buffer> = new Map([
  ["index.html", Buffer.from("<p>the page</p>")],
  ["assets/app-1a2b.js", Buffer.from(SCRIPT)],
  ["assets/app-1a2b.js.gz", gzipSync(SCRIPT)],
  ["assets/style-3c4d.css", Buffer.from("p {}")],
  ["assets/odd.html", Buffer.from("<script>alert(1)</script>")],
  ["secret.txt", Buffer.from("not in the folder of assets")],
]);
const page: PageFiles = { list: () => new Set(FILES.keys()), read: (path) => FILES.get(path) };

let serving: Serving;
beforeAll(async () => {
  serving = await Serving.start({ page });
});
afterAll(() => serving[Symbol.asyncDispose]());

const ask = (path: string, asking: Asking = {}) =>
  serving.ask(path, { token: null, port: serving.pagePort, ...asking });
const exchange = (code: unknown, asking: Asking = {}) =>
  serving.send("/page/session", { code }, { token: null, port: serving.pagePort, ...asking });

/** A code, as `chronicle ui` gets it. */
async function newCode(): Promise<string> {
  const { url } = (await serving.send("/page/open", {}, { bySocket: true })).json<{ url: string }>();
  return new URL(url).hash.replace("#code=", "");
}

async function newToken(): Promise<string> {
  return (await exchange(await newCode())).json<{ token: string }>().token;
}

describe("the files of the page", () => {
  const ADDRESSES = ["/", "/home", "/connect", "/w/notes", "/w/notes/timeline", "/w/notes/file/7", "/?at=3"];

  it.each(ADDRESSES)("are shown at %s, with a strict policy, and are not kept by the browser", async (path) => {
    const { status, headers, text } = await ask(path);
    expect(status).toBe(200);
    expect(text).toContain("<p>the page</p>");
    expect(headers["content-security-policy"]).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; " +
        "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
        "require-trusted-types-for 'script'; trusted-types 'none'",
    );
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
    });
    expect(headers["permissions-policy"]).toContain("camera=()");
  });

  it("are kept by the browser if their names change with their contents", async () => {
    const { headers, text } = await ask("/assets/app-1a2b.js");
    expect(text).toBe(SCRIPT);
    expect(headers).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "public, max-age=31536000, immutable",
      vary: "accept-encoding",
    });
    expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; /);
  });

  it("are compressed if the client takes that and it was made", async () => {
    const packed = await ask("/assets/app-1a2b.js", { headers: { "accept-encoding": "gzip, br" } });
    expect(packed.headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(packed.bytes).toString()).toBe(SCRIPT);
    const plain = await ask("/assets/style-3c4d.css", { headers: { "accept-encoding": "gzip, br" } });
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(plain.text).toBe("p {}");
  });

  it.each(["/", "/assets/app-1a2b.js"])("answer HEAD as GET, without the content: %s", async (path) => {
    const [head, whole] = [await ask(path, { method: "HEAD" }), await ask(path)];
    expect(head).toMatchObject({ status: 200, text: "" });
    for (const name of ["content-length", "content-type", "cache-control"]) {
      expect(head.headers[name]).toBe(whole.headers[name]);
    }
  });

  const ESCAPES = ["..%2fsecret.txt", "..%2f..%2fpackage.json", "%2e%2e%2fsecret.txt", "..%5csecret.txt", "%00"];
  it.each([...ESCAPES, "app-1a2b.js%00", "app-1a2b.js.gz", "odd.html", "", ".", "%2e%2e", "__proto__"])(
    "are those of the list alone: /assets/%s",
    async (name) => {
      const { status, headers } = await ask(`/assets/${name}`);
      expect(status).toBe(404);
      expect(headers["content-type"]).toMatch(/^application\/problem\+json/);
      expect(headers["content-security-policy"]).toContain("default-src 'none'");
    },
  );

  it.each(["/assets/../secret.txt", "/assets/x/../app-1a2b.js", "//assets/app-1a2b.js", "/secret.txt", "/index.html"])(
    "are at no other address: %s",
    async (path) => {
      const { status, headers } = await ask(path, { token: OPERATOR });
      expect(status).toBe(404);
      expect(headers["content-type"]).toMatch(/^application\/problem\+json/);
      expect(headers["content-security-policy"]).toContain("default-src 'none'");
    },
  );

  it("are only at the ports that offer them", async () => {
    for (const path of ["/", "/w/notes", "/assets/app-1a2b.js"]) {
      expect((await serving.ask(path)).status).toBe(404);
      expect((await serving.ask(path, { token: null })).status).toBe(401);
      expect((await serving.ask(path, { bySocket: true })).status).toBe(404);
    }
    expect((await serving.send("/page/session", { code: await newCode() })).status).toBe(404);
    expect((await serving.send("/page/session", { code: await newCode() }, { bySocket: true })).status).toBe(404);
  });
});

describe("a code", () => {
  it("is exchanged once for the token of an operator, and no cookie is set", async () => {
    const code = await newCode();
    const { status, headers, json } = await exchange(code);
    expect(status).toBe(200);
    expect(json()).toEqual({ token: expect.stringMatching(/^chr_page_/), role: "operator" });
    expect(headers["cache-control"]).toBe("no-store");
    expect(headers["set-cookie"]).toBeUndefined();
    const again = await exchange(code);
    expect(again.status).toBe(401);
    expect(again.json()).toMatchObject({ code: "UNAUTHENTICATED", hint: expect.stringContaining("chronicle ui") });
  });

  it("is for the address that was opened, and not for another port of the page", async () => {
    const { url } = (await serving.send("/page/open", {}, { bySocket: true })).json<{ url: string }>();
    await using free = await Serving.start();
    const { port } = free;
    await free[Symbol.asyncDispose]();
    expect((await serving.send("/page/open", { port }, { bySocket: true })).status).toBe(200);
    const code = new URL(url).hash.replace("#code=", "");
    const { status, json } = await exchange(code, { port });
    expect(status).toBe(403);
    expect(json()).toMatchObject({ code: "FORBIDDEN", hint: expect.stringContaining("chronicle ui") });
    expect((await exchange(code, { headers: { host: `localhost:${serving.pagePort}` } })).status).toBe(403);
    expect((await exchange(code)).status).toBe(200);
  });

  it("is given to the owner alone, and to no agent", async () => {
    for (const port of [serving.port, serving.pagePort]) {
      expect((await serving.send("/page/open", {}, { port })).status).toBe(404);
      expect((await serving.send("/page/open", {}, { port, token: null })).status).toBe(401);
    }
    const headers = { "chronicle-role": "agent" };
    expect((await serving.send("/page/open", {}, { bySocket: true, headers })).status).toBe(403);
  });

  it.each(["", "{", "[]", "null", '{"code": 7}', '{"cod": "x"}'])("is wanted as JSON, not as %o", async (body) => {
    const { status, json } = await ask("/page/session", { method: "POST", body });
    expect(status).toBe(400);
    expect(json()).toMatchObject({ code: "USAGE" });
  });

  it("cannot be guessed for long, and right ones still work meanwhile", async () => {
    await using other = await Serving.start({ page });
    const send = (code: string) => other.send("/page/session", { code }, { token: null, port: other.pagePort });
    const statuses: number[] = [];
    for (let n = 0; n < 14; n += 1) statuses.push((await send(`wrong-${n}`)).status);
    expect(statuses.slice(0, 10)).toEqual(Array(10).fill(401));
    expect(statuses.slice(11)).toEqual([429, 429, 429]);
    const { url } = (await other.send("/page/open", {}, { bySocket: true })).json<{ url: string }>();
    expect((await send(new URL(url).hash.replace("#code=", ""))).status).toBe(200);
  });
});

describe("a token of the page", () => {
  it("is an operator's, at the ports of the page alone", async () => {
    const token = await newToken();
    const me = await ask("/v1/me", { token });
    expect(me.json()).toMatchObject({ role: "operator", name: "page", workspaces: null });
    expect((await serving.ask("/v1/me", { token })).status).toBe(401);
    expect((await ask(`/v1/me?token=${token}`, { token })).status).toBe(400);
    expect((await ask(`/v1/me?x=${token}`, { token })).status).toBe(400);
  });

  it("steers syncs, but starts none", async () => {
    const token = await newToken();
    expect((await ask("/v1/syncs", { token })).json()).toMatchObject({ code: "UNAVAILABLE" });
    const start = { upstream: "http://127.0.0.1:1", folder: "/tmp/nowhere" };
    const at = { port: serving.pagePort };
    expect((await serving.send("/v1/syncs", start, { token, ...at })).json()).toMatchObject({ code: "FORBIDDEN" });
    expect((await ask("/v1/syncs", { token: OPERATOR })).json()).toMatchObject({ code: "FORBIDDEN" });
  });

  it("ends with the process", async () => {
    const token = await newToken();
    await using other = await Serving.start({ page });
    expect((await other.ask("/v1/me", { token, port: other.pagePort })).status).toBe(401);
  });

  it("records a person's work", async () => {
    const token = await newToken();
    const id = await serving.create("by-the-page");
    await serving.put(id, "a.txt", "1", { token, port: serving.pagePort });
    const { json } = await ask(`/v1/workspaces/${id}/log?reverse=true`, { token });
    const [written] = json<{ items: unknown[] }>().items;
    expect(written).toMatchObject({ record: { kind: "write", actor: "human", client: "page" } });
  });

  it("is not needed by whoever has another one, which keeps its role", async () => {
    const token = serving.token("reader");
    expect((await ask("/v1/me", { token })).json()).toMatchObject({ role: "reader" });
    const { status } = await serving.send("/v1/workspaces", { name: "no" }, { token, port: serving.pagePort });
    expect(status).toBe(403);
  });
});

describe("a stranger's page", () => {
  const FOREIGN = ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost"];

  it.each(FOREIGN)("gets nothing with the origin %s", async (origin) => {
    const headers = { origin };
    expect((await ask("/", { headers })).status).toBe(403);
    expect((await ask("/assets/app-1a2b.js", { headers })).status).toBe(403);
    const code = await newCode();
    expect((await exchange(code, { headers })).status).toBe(403);
    expect((await exchange(code)).status).toBe(200);
  });

  it("gets nothing by a name that leads to this machine", async () => {
    for (const host of ["evil.example", `evil.example:${serving.pagePort}`, `127.0.0.1:${serving.port}`]) {
      expect((await ask("/", { headers: { host } })).status).toBe(421);
      expect((await exchange(await newCode(), { headers: { host } })).status).toBe(421);
    }
  });

  it("can have a link to the page, and neither a frame nor its script", async () => {
    const from = (dest: string, mode: string) => ({
      headers: { "sec-fetch-site": "cross-site", "sec-fetch-dest": dest, "sec-fetch-mode": mode },
    });
    expect((await ask("/w/notes", from("document", "navigate"))).status).toBe(200);
    expect((await ask("/w/notes", from("iframe", "navigate"))).status).toBe(403);
    expect((await ask("/w/notes", from("empty", "cors"))).status).toBe(403);
    expect((await ask("/assets/app-1a2b.js", from("script", "no-cors"))).status).toBe(403);
    expect((await ask("/v1/me", { token: OPERATOR, ...from("document", "navigate") })).status).toBe(403);
  });
});

describe("the address of the page", () => {
  const open = (body: unknown) => serving.send("/page/open", body, { bySocket: true });

  it("is that of a port that offers it already, unless another one is wanted", async () => {
    const portOf = async (body: unknown) => Number(new URL((await open(body)).json<{ url: string }>().url).port);
    expect(await Promise.all([portOf({}), portOf({ port: 0 })])).toEqual([serving.pagePort, serving.pagePort]);
    await using free = await Serving.start();
    const { port } = free;
    await free[Symbol.asyncDispose]();
    expect(await Promise.all([portOf({ port }), portOf({ port })])).toEqual([port, port]);
    expect((await ask("/", { port })).status).toBe(200);
    expect((await ask("/", { port, headers: { host: `localhost:${port}` } })).status).toBe(421);
    expect((await ask("/v1/me", { port, token: await newToken() })).status).toBe(200);
  });

  it("is refused for a port of another program, with the reason", async () => {
    const { status, json } = await open({ port: serving.port });
    expect(status).toBe(409);
    expect(json()).toMatchObject({ code: "REFUSED", detail: expect.stringContaining("taken by another program") });
    expect((await open({})).status).toBe(200);
  });

  it.each([{ port: -1 }, { port: 65_536 }, { port: 1.5 }, { port: "80" }, [], 7].map((body) => [body]))(
    "is refused for %o",
    async (body) => {
      expect((await open(body)).status).toBe(body instanceof Array ? 200 : 400);
    },
  );
});
