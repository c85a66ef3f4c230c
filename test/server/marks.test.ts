import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createClient } from "../../src/client/index.ts";
import type { MarkShape } from "../../src/api/store-api.ts";
import { ACTING } from "../../src/api/routes/content-headers.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { openStore, unforget } from "../../src/open.ts";
import { type Asking, OPERATOR, Serving } from "./serving.ts";

/** What was looked at is kept for each caller, beside the history. */

const page = { list: () => new Set(["index.html"]), read: () => Buffer.from("<p>the page</p>") };
let serving: Serving;
beforeAll(async () => {
  serving = await Serving.start({ page });
});
afterAll(() => serving[Symbol.asyncDispose]());

const MARK: MarkShape = { path: "src/a.ts", before_hash: "", after_hash: sha256("a") };
const OTHER: MarkShape = { path: "b.sh", before_hash: sha256("b"), after_hash: sha256("b"), after_permissions: 0o755 };

const pathOf = (id: string): string => `/v1/workspaces/${id}/marks`;
const add = (id: string, marks: readonly unknown[], asking: Asking = {}) =>
  serving.send(pathOf(id), { add: marks }, asking);

async function marksOf(id: string, asking: Asking = {}): Promise<MarkShape[]> {
  return (await serving.ask(pathOf(id), asking)).json<{ marks: MarkShape[] }>().marks;
}

/** The bearer of a new token of the page. */
async function newPage(): Promise<Asking> {
  const { url } = (await serving.send("/page/open", {}, { bySocket: true })).json<{ url: string }>();
  const code = new URL(url).hash.replace("#code=", "");
  const at = { token: null, port: serving.pagePort };
  const { token } = (await serving.send("/page/session", { code }, at)).json<{ token: string }>();
  return { token, port: serving.pagePort };
}

it("each token has marks of its own, also a reader's, and all pages of the owner have the same", async () => {
  const id = await serving.create("people");
  const [reader, agent] = [serving.token("reader", ["people"]), serving.token("agent")];
  expect((await add("people", [MARK], { token: reader })).status).toBe(204);
  expect((await add(id, [OTHER], await newPage())).status).toBe(204);
  expect(await marksOf(id, { token: reader })).toEqual([MARK]);
  expect(await marksOf(id, { token: agent })).toEqual([]);
  expect(await marksOf(id)).toEqual([]);
  expect(await marksOf(id, await newPage())).toEqual([OTHER]);
  expect(await marksOf(id, { bySocket: true })).toEqual([OTHER]);
});

it("an agent on the owner's machine marks nothing in the owner's name", async () => {
  const id = await serving.create("agents");
  const acting = { bySocket: true, headers: { [ACTING.role]: "agent" } };
  expect((await add(id, [MARK], acting)).status).toBe(204);
  expect(await marksOf(id, acting)).toEqual([MARK]);
  expect(await marksOf(id, { bySocket: true })).toEqual([]);
});

it("marks of a workspace are for those who see it", async () => {
  await serving.create("hidden");
  const token = serving.token("operator", ["people"]);
  expect((await add("hidden", [MARK], { token })).status).toBe(404);
  expect((await serving.ask(pathOf("hidden"), { token })).status).toBe(404);
  expect((await serving.ask(pathOf("nowhere"))).status).toBe(404);
});

it.each([
  ["a hash that is none", [{ ...MARK, after_hash: "../../x" }]],
  ["a field that is none", [{ ...MARK, who: "me" }]],
  ["more marks than are kept", Array.from({ length: 5_001 }, () => MARK)],
])("%s is refused", async (_what, marks) => {
  const id = await serving.create(`refused-${marks.length}-${Object.keys(marks[0] ?? {}).length}`);
  expect((await add(id, marks)).status).toBe(400);
  expect(await marksOf(id)).toEqual([]);
});

it("marks are no part of the history, also of an archived one, and are forgotten and brought back with it", async () => {
  const id = await serving.create("forgotten");
  await serving.put(id, "a.txt", "a");
  const head = async (): Promise<unknown> => (await serving.ask(`/v1/workspaces/${id}/head`)).json()["seq"];
  const before = await head();
  await add(id, [MARK]);
  expect(await head()).toEqual(before);
  await serving.send(`/v1/workspaces/${id}/archive`, { archived: true });
  expect((await add(id, [OTHER])).status).toBe(204);
  expect((await serving.ask(`/v1/workspaces/${id}`, { method: "DELETE" })).status).toBe(200);
  expect((await add(id, [MARK])).status).toBe(404);
  await unforget(serving.store, id);
  expect(await marksOf(id)).toEqual([MARK, OTHER]);
  expect((await serving.ask(`/v1/workspaces/${id}/verify`)).json()["ok"]).toBe(true);
  await serving.store.forget(id, { now: true });
  expect(readdirSync(join(serving.base, "store"), { recursive: true, encoding: "utf8" }).join()).not.toContain(id);
});

it("the client has them, and another process sees them; a damaged file costs the marks alone", async () => {
  const id = await serving.create("client");
  const client = createClient({ url: `http://127.0.0.1:${serving.port}`, token: OPERATOR });
  await client.store.mark(id, { add: [MARK, OTHER] });
  await client.store.mark("client", { remove: [MARK] });
  expect(await client.store.marks("client")).toEqual({ marks: [OTHER] });
  await expect(client.store.marks(id, { person: "somebody" })).rejects.toMatchObject({ code: "USAGE" });
  const elsewhere = await openStore({ home: join(serving.base, "store"), configFolder: join(serving.base, "config") });
  expect(await elsewhere.marks(id, { person: "operator" })).toEqual({ marks: [OTHER] });
  await elsewhere.close();
  const folder = join(serving.base, "store", "workspaces", id, "marks");
  const [name = ""] = readdirSync(folder);
  writeFileSync(join(folder, name), "\0".repeat(100));
  expect(await client.store.marks(id)).toEqual({ marks: [], problem: expect.any(String) });
  expect(readFileSync(join(folder, name)).length).toBe(100);
  expect((await serving.put(id, "a.txt", "a")).status).toBe(200);
  await client.store.mark(id, { add: [MARK] });
  expect(await client.store.marks(id)).toEqual({ marks: [MARK] });
  await client.close();
});
