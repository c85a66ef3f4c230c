import { describe, expect, it } from "vitest";
import { ChronicleError } from "../core/values/errors.ts";
import { SimDisk } from "../testing/sim-disk/sim-disk.ts";
import { onlyOnce } from "../server/answers/idempotent.ts";
import { OWNER } from "../server/callers/caller.ts";
import { hashToken, newToken, type TokenRecord } from "../server/callers/token.ts";
import { FileIdempotencyStore } from "./file-idempotency-store.ts";
import { FileTokenStore } from "./file-token-store.ts";

/** Books of a server in files: on disks that are full, and after what people do to files. */

const PATH = "/home/me/replies.jsonl";

/** A disk on which one operation on the book fails. */
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

  it.each(["write", "sync"] as const)("of which a %s fails lets the change be tried again", async (what) => {
    const { disk, arm } = failing(what, 1);
    const book = new FileIdempotencyStore(disk, PATH);
    arm();
    let done = 0;
    const work = () => Promise.resolve({ status: 200, value: (done += 1) });
    await expect(onlyOnce(book, change, work)).rejects.toMatchObject({ code: "ENOSPC" });
    expect(await onlyOnce(book, change, work)).toEqual({ status: 200, value: 1 });
    // Half a line is no reason to forget the one behind it.
    const again = new FileIdempotencyStore(disk, PATH);
    expect(await onlyOnce(again, change, work)).toEqual({ status: 200, value: 1 });
    expect(done).toBe(1);
  });

  it("whose end cannot be written down has done the change all the same", async () => {
    const { disk, arm } = failing("write", 2);
    const book = new FileIdempotencyStore(disk, PATH);
    arm();
    expect(await onlyOnce(book, change, () => Promise.resolve({ status: 200, value: 1 }))).toMatchObject({ value: 1 });
    // Another server cannot know how it ended, and does not do it again.
    const again = new FileIdempotencyStore(disk, PATH);
    await expect(onlyOnce(again, change, () => Promise.resolve({ status: 200, value: 2 }))).rejects.toMatchObject({
      code: "REFUSED",
    });
  });

  it("tells why a change was refused, also where that cannot be written down", async () => {
    const { disk, arm } = failing("write", 2);
    const book = new FileIdempotencyStore(disk, PATH);
    arm();
    const refuse = () => Promise.reject(new ChronicleError("REFUSED", "no"));
    await expect(onlyOnce(book, change, refuse)).rejects.toMatchObject({ message: "no" });
  });

  it("holds so many bytes of replies and no more", () => {
    const book = new FileIdempotencyStore(SimDisk.fromTree({ "/home/me": { folder: 0o700 } }), PATH);
    const value = "x".repeat(200_000);
    for (let i = 0; i < 200; i += 1) {
      book.begin(`k${i}`, "p", 1_000);
      book.end(`k${i}`, { status: 200, value });
    }
    const replies = Array.from({ length: 200 }, (_, i) => book.begin(`k${i}`, "p", 1_000));
    // All of them are done, and none is done again; of the oldest only that is known.
    expect(replies.every(({ kind }) => kind === "done")).toBe(true);
    const whole = replies.filter((one) => one.kind === "done" && one.reply.value === value);
    expect(whole.length).toBe(41);
    expect(replies[0]).toEqual({ kind: "done", reply: { status: 200, value: { done: true } } });
    expect(replies.at(-1)).toEqual({ kind: "done", reply: { status: 200, value } });
  });
});

it("a book of replies with three bytes a character is rarely written anew", () => {
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
  // At the start, above 16 MiB, and at twice the size that it had then.
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

  it("takes no token from a file that is not called as it is: nobody could revoke it", () => {
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
