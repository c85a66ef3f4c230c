import { describe, expect, it } from "vitest";
import { ChronicleError } from "../core/values/errors.ts";
import { SimDisk } from "../testing/sim-disk/sim-disk.ts";
import { onlyOnce } from "../server/answers/idempotent.ts";
import { OWNER } from "../server/callers/caller.ts";
import { hashToken, newToken, type TokenRecord } from "../server/callers/token.ts";
import { FileIdempotencyStore } from "./file-idempotency-store.ts";
import { FileTokenStore } from "./file-token-store.ts";

/**
 * Tests the files in which a server keeps replies ("a book of replies") and tokens ("a book of tokens"). The tests use
 * full disks and renamed files.
 */

const PATH = "/home/me/replies.jsonl";

/** Returns a disk on which the n-th operation `name` on the book fails. The count starts when `arm` is called. */
function failing(name: "write" | "sync", nth: number) {
  const state = { seen: 0, armed: false };
  const disk = SimDisk.fromTree({ "/home/me": { folder: 0o700 } });
  disk.plan = ({ name: what, path }) => {
    if (!state.armed || what !== name || path !== PATH) return "go";
    state.seen += 1;
    return state.seen === nth ? { errno: "ENOSPC" } : "go";
  };
  return { disk, arm: () => (state.armed = true) };
}

describe("a book of replies", () => {
  const change = { caller: OWNER, key: "k", method: "POST", url: "/", ifMatch: undefined, body: undefined };

  it.each(["write", "sync"] as const)("lets a change be tried again after a %s of the book failed", async (what) => {
    const { disk, arm } = failing(what, 1);
    const book = new FileIdempotencyStore(disk, PATH);
    arm();
    let done = 0;
    const work = () => Promise.resolve({ status: 200, value: (done += 1) });
    await expect(onlyOnce(book, change, work)).rejects.toMatchObject({ code: "ENOSPC" });
    expect(await onlyOnce(book, change, work)).toEqual({ status: 200, value: 1 });
    // After the failure, the next line rewrites the whole book. A store that reads the book therefore finds the reply.
    const again = new FileIdempotencyStore(disk, PATH);
    expect(await onlyOnce(again, change, work)).toEqual({ status: 200, value: 1 });
    expect(done).toBe(1);
  });

  it("gives the reply of a change even if the reply cannot be written to the book", async () => {
    const { disk, arm } = failing("write", 2);
    const book = new FileIdempotencyStore(disk, PATH);
    arm();
    expect(await onlyOnce(book, change, () => Promise.resolve({ status: 200, value: 1 }))).toMatchObject({ value: 1 });
    // Another server does not know how the change ended, and does not make the change again.
    const again = new FileIdempotencyStore(disk, PATH);
    await expect(onlyOnce(again, change, () => Promise.resolve({ status: 200, value: 2 }))).rejects.toMatchObject({
      code: "REFUSED",
    });
  });

  it("gives the reason for a refused change even if the reason cannot be written to the book", async () => {
    const { disk, arm } = failing("write", 2);
    const book = new FileIdempotencyStore(disk, PATH);
    arm();
    const refuse = () => Promise.reject(new ChronicleError("REFUSED", "no"));
    await expect(onlyOnce(book, change, refuse)).rejects.toMatchObject({ message: "no" });
  });

  it("keeps the newest replies up to a limit in bytes, and keeps of older ones only that they are done", () => {
    const book = new FileIdempotencyStore(SimDisk.fromTree({ "/home/me": { folder: 0o700 } }), PATH);
    const value = "x".repeat(200_000);
    for (let i = 0; i < 200; i += 1) {
      book.begin(`k${i}`, "p", 1_000);
      book.end(`k${i}`, { status: 200, value });
    }
    const replies = Array.from({ length: 200 }, (_, i) => book.begin(`k${i}`, "p", 1_000));
    // All changes are known to be done, so no change is made again. The replies to the oldest changes are not kept.
    expect(replies.every(({ kind }) => kind === "done")).toBe(true);
    const whole = replies.filter((one) => one.kind === "done" && one.reply.value === value);
    expect(whole.length).toBe(41);
    expect(replies[0]).toEqual({ kind: "done", reply: { status: 200, value: { done: true } } });
    expect(replies.at(-1)).toEqual({ kind: "done", reply: { status: 200, value } });
  });
});

it("a book of replies with three bytes a character is rewritten only three times for 60 long replies", () => {
  const disk = SimDisk.fromTree({ "/home/me": { folder: 0o700 } });
  let written = 0;
  disk.plan = ({ name }) => {
    if (name === "rename") written += 1;
    return "go";
  };
  const book = new FileIdempotencyStore(disk, PATH);
  for (let i = 0; i < 60; i += 1) {
    book.begin(`k${i}`, "p", 1_000);
    book.end(`k${i}`, { status: 200, value: "字".repeat(200_000) });
  }
  // The book is rewritten at the start, when it exceeds 16 MiB, and when it exceeds twice the size that it has after
  // the second rewrite.
  expect(written).toBe(3);
  const again = new FileIdempotencyStore(disk, PATH);
  expect(again.begin("k59", "p", 1_000)).toMatchObject({ kind: "done", reply: { value: "字".repeat(200_000) } });
});

describe("a book of tokens", () => {
  const record = (id: string, token: string): TokenRecord => {
    return {
      id,
      name: id,
      role: "reader",
      workspaces: null,
      hash: hashToken(token),
      created: "2026-01-01",
      expires: null,
    };
  };

  it("accepts a token from a renamed file only if the token can be revoked", () => {
    const disk = SimDisk.fromTree({ "/home/me": { folder: 0o700 } });
    const book = new FileTokenStore(disk, "/home/me", () => 0);
    const token = newToken();
    book.add(record("a", token));
    expect(book.find(hashToken(token))?.id).toBe("a");
    disk.rename("/home/me/tokens/a.json", "/home/me/tokens/copy.json");
    const isThere = book.find(hashToken(token)) !== undefined;
    const isRevoked = book.remove("a");
    expect(isRevoked).toBe(isThere);
    expect(book.find(hashToken(token))).toBeUndefined();
  });
});
