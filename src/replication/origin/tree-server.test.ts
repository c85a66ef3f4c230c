import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { ChronicleError } from "../../core/values/errors.ts";
import { sha256 } from "../../core/values/hash.ts";
import { parsePath } from "../../core/values/path.ts";
import { memoryChannels } from "../channels/memory-wire.ts";
import { MAX_PIECE_BYTES } from "../protocol/limits.ts";
import type { Message, MessageOf } from "../protocol/messages.ts";
import { TreeServer, type ListedChild, type TreeSource } from "./tree-server.ts";

const HASH = sha256("of some event");

/** Returns a state after event 9 with these erasures, in which each folder has these children. */
function stateWith(erasures: Buffer, children: readonly ListedChild[] = []): TreeSource {
  const record = {
    recordId: "workspace:w1",
    seq: 1,
    ts: "2026-01-31T09:30:00.000Z",
    op: "upsert" as const,
    record: {},
  };
  return {
    anchor: async () => ({ seq: 9, hash: HASH, root: HASH, frontier: [HASH], record, erasures }),
    view: async () => ({ list: async () => ({ hash: HASH, touched: false, children }) }),
  };
}

async function serving(erasures: Buffer, seenAs: (state: TreeSource) => TreeSource = (same) => same) {
  const { a, b } = memoryChannels();
  const server = new TreeServer(a, seenAs(stateWith(erasures)));
  await server.begin();
  const heard = b.receive()[Symbol.asyncIterator]();
  const next = async (): Promise<Message | undefined> => {
    const { value, done } = await heard.next();
    return done === true ? undefined : value;
  };
  return { server, next, ended: a.ended };
}

const ask = (offset: number, sequence = 9) => ({ type: "ErasuresRequest" as const, sequence, offset });

describe("the erasures of a state", () => {
  it("go in pieces, as they are asked for", async () => {
    const erasures = randomBytes(2 * MAX_PIECE_BYTES + 5);
    const { server, next } = await serving(erasures);
    const came: Buffer[] = [];
    for (let offset = 0; offset < erasures.length; offset += MAX_PIECE_BYTES) {
      server.ask(ask(offset));
      const answer = await next();
      if (answer?.type !== "ErasuresResponse") throw new Error(`${answer?.type} came`);
      expect(answer).toMatchObject({ sequence: 9, offset, total: erasures.length });
      came.push(Buffer.from(answer.rows));
    }
    expect(came.map(({ length }) => length)).toEqual([MAX_PIECE_BYTES, MAX_PIECE_BYTES, 5]);
    expect(Buffer.concat(came).equals(erasures)).toBe(true);
  });

  it("may be empty", async () => {
    const { server, next } = await serving(Buffer.alloc(0));
    server.ask(ask(0));
    expect(await next()).toMatchObject({ type: "ErasuresResponse", offset: 0, total: 0, rows: Buffer.alloc(0) });
  });

  it("are refused at an offset beyond their end, and for another state", async () => {
    const { server, ended } = await serving(randomBytes(5));
    expect(() => server.ask(ask(0, 8))).toThrow(expect.objectContaining({ code: "USAGE" }));
    server.ask(ask(6));
    expect((await ended).error).toMatchObject({ code: "USAGE" });
  });

  it("are not sent to a replica that has ended its fetch", async () => {
    const { server, next } = await serving(randomBytes(5));
    server.end(9);
    server.ask(ask(0));
    await server.begin();
    server.ask(ask(5));
    expect(await next()).toMatchObject({ offset: 5 });
  });

  it("are not answered for an earlier state once a later one has begun, and neither are its folders", async () => {
    let seq = 9;
    const views: number[] = [];
    const { server, next } = await serving(randomBytes(5), (state) => ({
      anchor: async () => ({ ...(await state.anchor()), seq }),
      view: async (at, since) => {
        views.push(at);
        return state.view(at, since);
      },
    }));
    const folders = (sequence: number) => ({
      type: "TreeRequest" as const,
      sequence,
      since: 3,
      folders: [{ filepath: "" }],
    });
    server.ask(folders(9));
    expect(await next()).toMatchObject({ type: "TreeResponse", sequence: 9 });
    seq = 12;
    server.end(8);
    expect(await server.begin()).toMatchObject({ sequence: 9 });
    server.end(9);
    expect(await server.begin()).toMatchObject({ sequence: 12 });
    server.ask(ask(0));
    server.ask(folders(9));
    server.ask(folders(12));
    expect(await next()).toMatchObject({ type: "TreeResponse", sequence: 12 });
    expect(views).toEqual([9, 12]);
  });

  it("are refused if a replica has too many open requests", async () => {
    const { server } = await serving(randomBytes(5));
    const flood = (): void => {
      for (let i = 0; i < 100; i += 1) server.ask(ask(0));
    };
    expect(flood).toThrow(expect.objectContaining<Partial<ChronicleError>>({ code: "LIMIT_EXCEEDED" }));
  });
});

describe("the folders of a state", () => {
  const child = (name: string): ListedChild => {
    const path = parsePath(name);
    const entry = { path, kind: "file", mode: 0o644, size: 1, mtimeMs: 1, hash: HASH } as const;
    return { name, row: { path, seq: 1, iteration: 1, entry }, hash: HASH, touched: undefined };
  };

  it.each([
    ["short names", "x"],
    ["long names", "x".repeat(240)],
    ["names that are longer in bytes than in characters", "文".repeat(80)],
    ["names that are longer in JSON", "\u{1}".repeat(240)],
  ])("go in answers that fit in frames, with %s", async (_, filler) => {
    const children = Array.from({ length: 4_000 }, (_child, i) => child(`${String(i).padStart(4, "0")}${filler}`));
    const { server, next, ended } = await serving(Buffer.alloc(0), () => stateWith(Buffer.alloc(0), children));
    server.ask({
      type: "TreeRequest",
      sequence: 9,
      since: 0,
      folders: [{ filepath: "a" }, { filepath: "文".repeat(80) }],
    });
    const first = await Promise.race([next(), ended.then(({ error }) => error)]);
    expect(first).toMatchObject({ type: "TreeResponse" });
    const listed = (first as MessageOf<"TreeResponse">).folders[0]?.children ?? [];
    expect(listed.length).toBeGreaterThan(500);
    expect(listed.map(({ name }) => name)).toEqual(children.slice(0, listed.length).map(({ name }) => name));
  });
});
