import { gunzipSync, brotliDecompressSync, zstdDecompressSync } from "node:zlib";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createClient } from "../../src/client/index.ts";
import { OPERATOR, Serving } from "./serving.ts";

/** Answers that are compressed for those who accept it. */

let serving: Serving;
let workspace = "";

const ALL = { "accept-encoding": "gzip, deflate, br, zstd" };
const TEXT = "a line of a file\n".repeat(500);

beforeAll(async () => {
  serving = await Serving.start({ folder: true, sharedWith: ["https://page.example"] });
  for (let i = 0; i < 100; i += 1) writeFileSync(join(serving.base, "project", `file-${i}.txt`), TEXT);
  const client = createClient({ url: `http://127.0.0.1:${serving.port}`, token: OPERATOR });
  const { default_workspace: id } = await client.me();
  await client.workspace(id ?? "").snapshot({ message: "a hundred files" });
  workspace = `/v1/workspaces/${id}`;
});
afterAll(() => serving[Symbol.asyncDispose]());

it.each([
  ["gzip, deflate, br, zstd", "zstd", zstdDecompressSync],
  ["gzip, br;q=0.5, zstd;q=0", "br", brotliDecompressSync],
  ["gzip", "gzip", gunzipSync],
])("for %s, a long answer is sent as %s", async (accepted, name, unpack) => {
  const plain = await serving.ask(`${workspace}/files`);
  const packed = await serving.ask(`${workspace}/files`, { headers: { "accept-encoding": accepted } });
  expect(plain.headers).toMatchObject({ vary: "accept-encoding" });
  expect(plain.headers).not.toHaveProperty("content-encoding");
  expect(packed.headers).toMatchObject({
    "content-encoding": name,
    vary: "accept-encoding",
    "cache-control": "no-store",
  });
  expect(Number(packed.headers["content-length"])).toBe(packed.bytes.length);
  expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 4);
  expect(unpack(packed.bytes).toString()).toBe(plain.text);
});

it("short answers, contents of files and streams of events are sent as they are", async () => {
  const ask = (path: string, method = "GET") => serving.ask(path, { headers: ALL, method });
  expect((await ask("/v1/me")).headers).not.toHaveProperty("content-encoding");
  const content = await ask(`${workspace}/files/file-1.txt`);
  expect(content.headers).not.toHaveProperty("content-encoding");
  expect(content.text).toBe(TEXT);
  const steps = await ask(`${workspace}/verify-steps`);
  expect(steps.headers).not.toHaveProperty("content-encoding");
  expect(steps.text).toContain('"ok":true');
  expect((await serving.ask(`${workspace}/files`, { headers: { "accept-encoding": "identity" } })).text).toContain(
    "file-1",
  );
});

it("the answer to a HEAD has the headers of the GET", async () => {
  const [get, head] = [await serving.ask(`${workspace}/files`, { headers: ALL }), await headOf(ALL)];
  const about = ["content-encoding", "content-length", "content-type", "vary"];
  expect(about.map((name) => head.headers[name])).toEqual(about.map((name) => get.headers[name]));
  expect(head.headers).toMatchObject({ "content-encoding": "zstd" });
  expect(head.text).toBe("");
  expect((await headOf({})).headers).not.toHaveProperty("content-encoding");
});

const headOf = (headers: Record<string, string>) => serving.ask(`${workspace}/files`, { headers, method: "HEAD" });

it("a content keeps its ETag and its ranges", async () => {
  const ask = (more: Record<string, string>) =>
    serving.ask(`${workspace}/files/file-1.txt`, { headers: { ...ALL, ...more } });
  const { headers } = await ask({});
  expect(headers).toMatchObject({ etag: expect.stringMatching(/^"/), "content-length": String(TEXT.length) });
  const part = await ask({ range: "bytes=0-1999" });
  expect([part.status, part.text]).toEqual([206, TEXT.slice(0, 2_000)]);
  expect(part.headers).not.toHaveProperty("content-encoding");
  expect((await ask({ "if-none-match": String(headers.etag) })).status).toBe(304);
});

it("a shared answer still depends on its origin", async () => {
  const headers = { ...ALL, origin: "https://page.example" };
  expect((await serving.ask(`${workspace}/files`, { headers })).headers).toMatchObject({
    vary: "origin, accept-encoding",
    "access-control-allow-origin": "https://page.example",
  });
});

it("the client of browsers unpacks what it accepts", async () => {
  const encodings: (string | null)[] = [];
  const heard: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    encodings.push(response.headers.get("content-encoding"));
    return response;
  };
  const client = createClient({ url: `http://127.0.0.1:${serving.port}`, token: OPERATOR, fetch: heard });
  const { files } = await client.workspace(workspace.split("/").at(-1) ?? "").files();
  expect(files).toHaveLength(100);
  expect(encodings).toEqual([expect.stringMatching(/^(gzip|br|zstd)$/)]);
});
