import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FileIdempotencyStore } from "../../src/daemon/file-idempotency-store.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { onlyOnce, type IdempotencyStore } from "../../src/server/answers/idempotent.ts";
import { MemoryIdempotencyStore } from "../../src/server/answers/memory-idempotency-store.ts";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { signedLine } from "../helpers/original-log.ts";
import { Serving } from "./serving.ts";

/** A change that is sent with an Idempotency-Key is made once, however often it is sent. */

const key = (name: string) => ({ headers: { "idempotency-key": name } });

describe("a change under an Idempotency-Key", () => {
  it("is made once, and answered the same each time", async () => {
    await using serving = await Serving.start();
    const id = await serving.create("w");
    const snapshot = () => serving.send(`/v1/workspaces/${id}/snapshots`, { name: "one" }, key("k1"));
    const first = await snapshot();
    expect(first.status).toBeLessThan(300);
    const again = await snapshot();
    expect([again.status, again.json()]).toEqual([first.status, first.json()]);
    const other = await serving.send(`/v1/workspaces/${id}/snapshots`, { name: "two" }, key("k1"));
    expect([other.status, other.json()["code"]]).toEqual([422, "USAGE"]);
    const { items } = (await serving.ask(`/v1/workspaces/${id}/snapshots`)).json<{ items: unknown[] }>();
    expect(items).toHaveLength(2);
  });

  it("is answered the same, even if it has removed its workspace", async () => {
    await using serving = await Serving.start();
    const id = await serving.create("w");
    const forget = () => serving.ask(`/v1/workspaces/${id}`, { method: "DELETE", ...key("k-gone") });
    const first = await forget();
    expect(first.status).toBe(200);
    const again = await forget();
    expect([again.status, again.json()]).toEqual([200, first.json()]);
    const others = await serving.ask(`/v1/workspaces/${id}`, { method: "DELETE", ...key("k-new") });
    expect(others.status).toBe(404);
  });

  it("is recognised by its bytes, too: other bytes under its key are refused, and do nothing", async () => {
    await using serving = await Serving.start();
    const id = await serving.create("w");
    const bring = (line: string, { headers } = key("k")) =>
      serving.ask(`/v1/workspaces/${id}/records/import`, { method: "POST", body: `${line}\n`, headers });
    const [one, other] = [signedLine({ record_id: '"a"' }), signedLine({ record_id: '"b"' })];
    const first = await bring(one);
    expect([first.status, first.json()]).toEqual([200, expect.objectContaining({ events: 1 })]);
    const again = await bring(one);
    expect([again.status, again.json()]).toEqual([200, first.json()]);
    for (const body of [other, one.slice(0, -1), ""]) {
      const refused = await bring(body);
      expect([refused.status, refused.json()]).toEqual([
        422,
        expect.objectContaining({ code: "USAGE", data: { field: "Idempotency-Key", reused: true } }),
      ]);
    }
    const { items } = (await serving.ask(`/v1/workspaces/${id}/records`)).json<{ items: { id: string }[] }>();
    expect(items.map((item) => item.id)).toEqual(["a"]);
    expect((await bring(other, key("k-other"))).status).toBe(200);
  });

  it("whose body is too large is refused, and its key stays free", async () => {
    await using serving = await Serving.start();
    const id = await serving.create("w");
    const bring = (body: string | Uint8Array) =>
      serving.ask(`/v1/workspaces/${id}/records/import`, { method: "POST", body, ...key("k") });
    const large = await bring(new Uint8Array(64 * 1024 ** 2 + 1));
    expect([large.status, large.json()["code"]]).toEqual([413, "LIMIT_EXCEEDED"]);
    expect((await bring(`${signedLine({})}\n`)).status).toBe(200);
  });

  it("is remembered by the log if it is about a file", async () => {
    await using serving = await Serving.start();
    const id = await serving.create("w");
    const put = (body: string) => serving.put(id, "a", body, key("k2"));
    const first = await put("x");
    await serving.put(id, "a", "y");
    const again = await put("x");
    expect([again.status, again.json()]).toEqual([200, first.json()]);
    expect((await serving.read(id, "a")).text).toBe("y");
    const other = await put("z");
    expect([other.status, other.text.includes("owner") || other.text.includes("operator k2")]).toEqual([422, false]);
  });

  it("is another change under another token", async () => {
    await using serving = await Serving.start();
    const id = await serving.create("w");
    await serving.put(id, "a", "x", key("k"));
    const theirs = await serving.put(id, "a", "y", { ...key("k"), token: serving.token("agent") });
    expect(theirs.status).toBe(200);
    expect((await serving.read(id, "a")).text).toBe("y");
  });

  it("that was refused may be tried again", async () => {
    await using serving = await Serving.start();
    const id = await serving.create("w");
    const undo = () => serving.send(`/v1/workspaces/${id}/undo`, {}, key("k3"));
    expect((await undo()).status).toBeGreaterThanOrEqual(400);
    await serving.put(id, "a", "x");
    expect((await undo()).status).toBe(200);
    expect((await serving.read(id, "a")).status).toBe(404);
  });

  it.each(["", " ", "a b", "x".repeat(129), "é"])("is refused under the key %o", async (name) => {
    await using serving = await Serving.start();
    const id = await serving.create("w");
    const answer = await serving.raw(
      `PUT /v1/workspaces/${id}/files/a HTTP/1.1\r\nHost: 127.0.0.1:${serving.port}\r\nIdempotency-Key: ${name}\r\n` +
        "Authorization: Bearer operator-token-of-these-tests\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx",
    );
    expect(answer.text).toMatch(/^HTTP\/1\.1 400 /);
  });
});

const caller = { id: "c", name: "c", role: "agent", isOwner: false } as const;
const change = { caller, key: "k", method: "POST", url: "/x", ifMatch: undefined, body: { a: 1 } };
const reply = { status: 200, value: { done: 1 } };

function fileBook(): { open: () => FileIdempotencyStore; path: string } {
  const path = join(mkdtempSync(join(tmpdir(), "chronicle-replies-")), "replies.ndjson");
  return { path, open: () => new FileIdempotencyStore(new NodeDisk(), path) };
}

describe.each([
  ["in memory", (): IdempotencyStore => new MemoryIdempotencyStore()],
  ["in a file", (): IdempotencyStore => fileBook().open()],
])("the book of replies %s", (_name, make) => {
  it("lets one request at a time make a change, and repeats its reply", async () => {
    const book = make();
    const gate = Promise.withResolvers<typeof reply>();
    const first = onlyOnce(book, change, () => gate.promise);
    await expect(onlyOnce(book, change, () => Promise.resolve(reply))).rejects.toMatchObject({ code: "LOCKED" });
    gate.resolve(reply);
    expect(await first).toEqual(reply);
    expect(await onlyOnce(book, change, () => Promise.reject(new Error("again")))).toEqual(reply);
  });

  it("forgets a change that was refused, and does not repeat one whose outcome is unknown", async () => {
    const book = make();
    const refused = (): Promise<never> => Promise.reject(new ChronicleError("REFUSED", "no"));
    await expect(onlyOnce(book, change, refused)).rejects.toMatchObject({ message: "no" });
    const broken = (): Promise<never> => Promise.reject(new ChronicleError("IO", "broken"));
    await expect(onlyOnce(book, change, broken)).rejects.toMatchObject({ code: "IO" });
    await expect(onlyOnce(book, change, () => Promise.resolve(reply))).rejects.toMatchObject({
      code: "REFUSED",
      message: expect.stringContaining("nobody can say"),
    });
  });
});

describe("the book of replies in a file", () => {
  it("knows after a restart what was done, and what was only begun", async () => {
    const { open, path } = fileBook();
    const book = open();
    await onlyOnce(book, change, () => Promise.resolve(reply));
    book.begin("c begun", "print", Date.now());
    const after = open();
    expect(await onlyOnce(after, change, () => Promise.reject(new Error("again")))).toEqual(reply);
    expect(after.begin("c begun", "print", Date.now())).toMatchObject({ kind: "begun", going: false });
    // Half a line at the end, as a power failure leaves it, does not hide the lines before it.
    writeFileSync(path, `${readFileSync(path, "utf8")}{"key":"c hal`);
    expect(open().begin("c begun", "print", Date.now())).toMatchObject({ kind: "begun" });
  });

  it("forgets after a day what has ended, or was begun by a process that is gone", () => {
    const { open } = fileBook();
    const book = open();
    const now = Date.now();
    for (const key of ["k", "begun"]) book.begin(key, "p", now);
    book.end("k", { status: 200, value: 1 });
    expect(book.begin("k", "q", now + 1).kind).toBe("other");
    expect(book.begin("k", "q", now + 86_400_001).kind).toBe("new");
    expect(book.begin("begun", "p", now + 86_400_001)).toMatchObject({ kind: "begun", going: true });
    expect(open().begin("begun", "p", now + 86_400_001).kind).toBe("new");
  });
});
