import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Serving } from "./serving.ts";

/** Files over HTTP: reading and writing, conditions, ranges, hostile names and contents. */

let serving: Serving;
let id: string;

beforeAll(async () => {
  serving = await Serving.start();
  id = await serving.create("files");
});
afterAll(() => serving[Symbol.asyncDispose]());

const sha = (text: string | Uint8Array): string => createHash("sha256").update(text).digest("hex");

describe("finding by name", () => {
  const found = async (name: string): Promise<string[]> => {
    const all: string[] = [];
    let query = "";
    for (let pages = 0; pages < 10; pages += 1) {
      const asked = await serving.ask(`/v1/workspaces/files/find?name=${name}&limit=1${query}`);
      expect([pages, asked.status]).toEqual([pages, 200]);
      const { items, next } = asked.json<{ items: string[]; next: string | null }>();
      all.push(...items);
      if (next === null) return all;
      query = `&cursor=${encodeURIComponent(next)}`;
    }
    throw new Error(`there is no end of ${all.join()}`);
  };

  it("continues after a path that is too long for a URL, or has many characters to escape", async () => {
    const long = (top: string, part: string): string => `${top}/${Array(11).fill(part).join("/")}/long.txt`;
    const paths = [long("a", "d".repeat(200)), long("b", "e".repeat(200)), long("c", "語".repeat(70)), "d/long.txt"];
    for (const path of paths) await serving.put(id, encodeURI(path), "x");
    expect((await found("long.txt")).toSorted()).toEqual(paths.toSorted());
  });

  it("tells apart paths that are shown by the same characters", async () => {
    // Two names of one byte each, and a name of four characters that looks like the first of them.
    for (const path of ["\\xfd/odd.txt", "base64:/S9vZGQudHh0", "base64:/i9vZGQudHh0"])
      expect((await serving.put(id, encodeURIComponent(path), "x")).status).toBe(200);
    expect(await found("odd.txt")).toEqual(["\\xfd/odd.txt", "\\xfd/odd.txt", "\\xfe/odd.txt"]);
  });
});

describe("reading", () => {
  it("has the content, its hash as ETag, and what is recorded of it", async () => {
    await serving.put(id, "src/a.ts", "let a = 1;\n");
    const { status, headers, text } = await serving.read("files", "src/a.ts");
    expect([status, text]).toEqual([200, "let a = 1;\n"]);
    expect(headers).toMatchObject({
      etag: `"${sha("let a = 1;\n")}"`,
      "content-length": "11",
      "accept-ranges": "bytes",
      "content-type": "text/plain; charset=utf-8",
      "x-content-type-options": "nosniff",
      "chronicle-path": "src%2Fa.ts",
      "chronicle-iteration": "1",
    });
    const head = await serving.read("files", "src/a.ts", { method: "HEAD" });
    expect([head.status, head.text, head.headers["content-length"], head.headers.etag]).toEqual([
      200,
      "",
      "11",
      headers.etag,
    ]);
  });

  it("is answered with 304 if the client has the content", async () => {
    const etag = `"${sha("let a = 1;\n")}"`;
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
      const { status, text } = await serving.read(id, "src/a.ts", { headers: { "if-none-match": known } });
      expect([status, text]).toEqual([304, ""]);
    }
    expect((await serving.read(id, "src/a.ts", { headers: { "if-none-match": '"x"' } })).status).toBe(200);
  });

  it.each([
    ["bytes=0-2", 206, "let", "bytes 0-2/11"],
    ["bytes=4-", 206, "a = 1;\n", "bytes 4-10/11"],
    ["bytes=-3", 206, "1;\n", "bytes 8-10/11"],
    ["bytes=4-999", 206, "a = 1;\n", "bytes 4-10/11"],
    ["bytes=11-", 416, undefined, "bytes */11"],
    ["bytes=-0", 416, undefined, "bytes */11"],
    ["bytes=0-1,3-4", 416, undefined, "bytes */11"],
    ["bytes=5-2", 200, "let a = 1;\n", undefined],
    ["bytes=x", 200, "let a = 1;\n", undefined],
    ["lines=0-1", 200, "let a = 1;\n", undefined],
  ])("sends the range %o", async (range, status, text, contentRange) => {
    const got = await serving.read(id, "src/a.ts", { headers: { range } });
    expect([got.status, got.headers["content-range"]]).toEqual([status, contentRange]);
    if (text !== undefined) expect(got.text).toBe(text);
  });

  it("sends a range only if If-Range names the present content", async () => {
    const headers = { range: "bytes=0-2", "if-range": '"another"' };
    expect((await serving.read(id, "src/a.ts", { headers })).status).toBe(200);
    headers["if-range"] = `"${sha("let a = 1;\n")}"`;
    expect((await serving.read(id, "src/a.ts", { headers })).status).toBe(206);
  });

  it("finds earlier iterations, and files whose paths only look like a request for them", async () => {
    await serving.put(id, "h.txt", "one");
    await serving.put(id, "h.txt", "two");
    expect((await serving.read(id, "h.txt/at/1")).text).toBe("one");
    const { items } = (await serving.read(id, "h.txt/history")).json<{
      items: { iteration: number; hash: string }[];
    }>();
    expect(items.map(({ iteration, hash }) => [iteration, hash])).toEqual([
      [1, sha("one")],
      [2, sha("two")],
    ]);
    await serving.put(id, "folder/history", "a file");
    expect((await serving.read(id, "folder/history")).text).toBe("a file");
    await serving.put(id, "folder/at/7", "another");
    expect((await serving.read(id, "folder/at/7")).text).toBe("another");
    expect((await serving.read(id, "h.txt/history?as=content")).status).toBe(404);
  });

  it("sends a large content whole, and any range of it", async () => {
    const large = Buffer.alloc(12 * 1024 ** 2, "0123456789abcdef\n");
    await serving.put(id, "large.bin", large);
    const whole = await serving.read(id, "large.bin");
    expect(whole.bytes.equals(large)).toBe(true);
    const headers = { range: "bytes=10000000-10000009" };
    expect(
      (await serving.read(id, "large.bin", { headers })).bytes.equals(large.subarray(10_000_000, 10_000_010)),
    ).toBe(true);
  });
});

describe("writing", () => {
  it("is refused when somebody else was faster, and nothing is changed", async () => {
    await serving.put(id, "c.txt", "first");
    const mine = `"${sha("first")}"`;
    expect((await serving.put(id, "c.txt", "theirs")).status).toBe(200);
    const lost = await serving.put(id, "c.txt", "mine", { headers: { "if-match": mine } });
    expect([lost.status, lost.json()["code"]]).toEqual([412, "PRECONDITION_FAILED"]);
    expect(lost.headers["content-type"]).toMatch(/^application\/problem\+json/);
    expect((await serving.read(id, "c.txt")).text).toBe("theirs");
    const removed = await serving.ask(`/v1/workspaces/${id}/files/c.txt`, {
      method: "DELETE",
      headers: { "if-match": mine },
    });
    expect(removed.status).toBe(412);
    const now = { "if-match": `"${sha("theirs")}"` };
    expect((await serving.put(id, "c.txt", "mine", { headers: now })).status).toBe(200);
  });

  it("can require that nothing, or something, is there", async () => {
    const none = { headers: { "if-none-match": "*" } };
    expect((await serving.put(id, "new.txt", "x", none)).status).toBe(200);
    expect((await serving.put(id, "new.txt", "y", none)).status).toBe(412);
    const any = { headers: { "if-match": "*" } };
    expect((await serving.put(id, "new.txt", "y", any)).status).toBe(200);
    expect((await serving.put(id, "absent.txt", "y", any)).status).toBe(412);
  });

  it.each([{ "if-match": "abc" }, { "if-match": '"a" b' }, { "if-none-match": '"x"' }])(
    "is refused with the malformed condition %o",
    async (headers) => {
      const refused = await serving.put(id, "c.txt", "x", { headers });
      expect(refused.status).toBe(400);
      const { field = "" } = refused.json<{ data: { field?: string } }>().data;
      expect(Object.keys(headers)).toEqual([field.toLowerCase()]);
    },
  );

  it("takes bytes of any type as they are", async () => {
    const headers = { "content-type": "application/json" };
    expect((await serving.put(id, "broken.json", "{not json", { headers })).status).toBe(200);
    expect((await serving.read(id, "broken.json")).text).toBe("{not json");
    expect((await serving.put(id, "empty", "", { headers })).status).toBe(200);
    expect((await serving.read(id, "empty")).headers["content-length"]).toBe("0");
  });

  it("moves, deletes, makes folders", async () => {
    await serving.put(id, "m/a.txt", "x");
    expect((await serving.send(`/v1/workspaces/${id}/move`, { from: "m/a.txt", to: "n/b.txt" })).status).toBe(200);
    expect((await serving.read(id, "n/b.txt")).text).toBe("x");
    expect((await serving.ask(`/v1/workspaces/${id}/folders/empty%20one`, { method: "PUT" })).status).toBe(200);
    expect((await serving.ask(`/v1/workspaces/${id}/files/n`, { method: "DELETE" })).status).toBe(200);
    expect((await serving.read(id, "n/b.txt")).status).toBe(404);
  });
});

describe("a hostile name or content", () => {
  const PAGE = '<script>alert(1)</script><svg onload="alert(1)">';

  it.each([
    "page.html",
    "a.svg",
    "a.xml",
    "a.xhtml",
    "a.js",
    "a.mjs",
    "a.HTM",
    "a",
    "a.unknown",
    "a.pdf",
    "a.css",
    "x.svgz",
  ])("is inert: %s", async (name) => {
    await serving.put(id, `inert/${name}`, PAGE);
    const { headers, text } = await serving.read(id, `inert/${name}`);
    expect(text).toBe(PAGE);
    expect(headers["content-type"]).toMatch(/^(text\/plain; charset=utf-8|application\/octet-stream)$/);
    expect(headers["content-security-policy"]).toMatch(/default-src 'none'.*sandbox/);
    expect(headers["content-disposition"]).toMatch(/^attachment; /);
    expect(headers["x-content-type-options"]).toBe("nosniff");
  });

  it.each([
    "<img src=x onerror=alert(1)>",
    'a"; filename="evil.exe',
    "zeile\r\nset-cookie: a=b",
    "größe 漢字.txt",
    "per%cent",
    "a\u202Egnp.exe",
    "';x=",
  ])("does not break out of its header: %o", async (name) => {
    await serving.put(id, `names/${encodeURIComponent(name)}`, "x");
    const { headers, status } = await serving.read(id, `names/${encodeURIComponent(name)}`);
    expect(status).toBe(200);
    expect(headers["set-cookie"]).toBeUndefined();
    const disposition = headers["content-disposition"] ?? "";
    expect(disposition).toMatch(/^attachment; filename="[A-Za-z0-9._ -]*"; filename\*=UTF-8''[A-Za-z0-9._~%-]*$/);
    expect(decodeURIComponent(disposition.split("UTF-8''")[1] ?? "")).toBe(name);
    expect(decodeURIComponent(String(headers["chronicle-path"]))).toBe(`names/${name}`);
  });

  it.each([
    "../x",
    "a/../../x",
    "%2e%2e/x",
    "%2e%2e%2fx",
    "a/%2e%2e/%2e%2e/x",
    "..%2fetc%2fpasswd",
    "a//b",
    "a%2f%2fb",
    "a%00b",
    "%c0%ae%c0%ae/x",
    "%ff",
    "%e0%80%af",
    "%zz",
    "a/./b",
    "/etc/passwd",
    "%2fetc%2fpasswd",
  ])("is refused as a path: %s", async (path) => {
    for (const method of ["GET", "PUT", "DELETE"]) {
      const { status, text } = await serving.ask(`/v1/workspaces/${id}/files/${path}`, {
        method,
        ...(method === "PUT" ? { body: "x" } : {}),
      });
      expect([method, status]).toEqual([method, 400]);
      expect(text).not.toContain("root:");
    }
  });

  it("is decoded once", async () => {
    await serving.put(id, "%252e%252e%252fx", "once");
    const { files } = (await serving.ask(`/v1/workspaces/${id}/files?depth=1`)).json<{ files: { path: string }[] }>();
    expect(files.map(({ path }) => path)).toContain("%2e%2e%2fx");
    expect((await serving.read(id, "%252e%252e%252fx")).text).toBe("once");
  });

  it.each(["..", ".", "%2e%2e", "a%2fb", "%00", "x".repeat(200), "__proto__", "constructor"])(
    "is not found as a workspace: %s",
    async (name) => {
      const { status } = await serving.ask(`/v1/workspaces/${name}/files`);
      expect([404, 414]).toContain(status);
    },
  );
});
