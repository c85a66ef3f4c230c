import { describe, expect, it } from "vitest";
import { encodeHead, generateKey, signHead, vkeyOf } from "../../src/core/log/signed-head.ts";
import { sha256, type Hash } from "../../src/core/values/hash.ts";
import { MemoryBlobStore } from "../../src/storage/memory/memory-blob-store.ts";
import { fileEvent } from "../../src/testing/protocol-samples.ts";
import { HEARTBEAT_MS, RigOrigin, RigReplica, talk, type TalkOptions } from "../../src/testing/push-rig.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import type { Message } from "../../src/replication/protocol/messages.ts";

const MIB = 1024 * 1024;

async function pair() {
  return {
    clock: new VirtualClock(),
    origin: new RigOrigin(),
    replica: await RigReplica.start(RigReplica.emptyDisk()),
  };
}

/** Talks until the replica holds everything. */
async function follow(parts: Awaited<ReturnType<typeof pair>>, options?: TalkOptions) {
  const { clock, origin, replica } = parts;
  const going = talk(clock, origin, replica, options);
  const isEqual = await clock.run(clock.now + 60_000, () => going.origin.acknowledged === origin.head.seq);
  expect(isEqual).toBe(true);
  expect(replica.bytes).toBe(origin.bytes);
  return going;
}

async function contentOf(replica: RigReplica, hash: Hash): Promise<string | undefined> {
  return (await replica.blobs.get(hash))?.toString();
}

describe("push", () => {
  it("brings every line unchanged, and every content", async () => {
    const parts = await pair();
    const { origin, replica, clock } = parts;
    await origin.write("a.txt", "small");
    await origin.write("b.txt", "x".repeat(10_000));
    await origin.note(200_000);
    await origin.note(3 * MIB);
    await origin.write("C:\\x", "no name for Windows");
    await origin.write("a.txt", undefined);
    const large = `${"0123456789".repeat(500_000)}end`;
    await origin.write("large.bin", large);
    const going = await follow(parts);
    for (const [hash, content] of origin.contents) expect(await contentOf(replica, hash)).toBe(content.toString());
    expect(replica.handedOn).toEqual(origin.events.map(({ seq }) => seq));
    expect(going.replica.missing.size).toBe(0);
    await origin.write("later.txt", "as it comes");
    await clock.run(clock.now + 10, () => going.origin.acknowledged === 8);
    expect(replica.bytes).toBe(origin.bytes);
    expect(origin.cursors.get("r1")).toBe(8);
  });

  it("continues after a cut, and the replica hands on no event twice", async () => {
    const parts = await pair();
    const { origin, replica, clock } = parts;
    for (let i = 0; i < 20; i += 1) await origin.write(`f${i}`, `content ${i}`);
    const first = await follow(parts);
    first.link.cut();
    await clock.run(clock.now + 1);
    for (let i = 20; i < 25; i += 1) await origin.write(`f${i}`, `content ${i}`);
    await follow(parts);
    expect(replica.handedOn).toEqual(origin.events.map(({ seq }) => seq));
  });

  it("sends a slow replica no more than its window, and does not delay others", async () => {
    const parts = await pair();
    const { clock, origin, replica } = parts;
    for (let i = 0; i < 300; i += 1) await origin.note(10_000);
    const handed: number[] = [];
    let goOn = (): void => undefined;
    const stuck = new Promise<void>((resolve) => (goOn = resolve));
    const sent: Message[] = [];
    const slow = talk(clock, origin, replica, {
      origin: { windowBytes: 500_000 },
      replica: { onEvents: async (events) => (handed.push(...events.map(({ seq }) => seq)), stuck) },
    });
    const send = slow.link.a.send.bind(slow.link.a);
    slow.link.a.send = (message) => (sent.push(message), send(message));
    const other = await RigReplica.start(RigReplica.emptyDisk());
    const quick = talk(clock, origin, other, { replica: { sandboxId: "r2" } });
    expect(await clock.run(250, () => quick.origin.acknowledged === 300)).toBe(true);
    const bytes = sent.reduce((sum, one) => sum + (one.type === "Events" ? one.lines.length : 0), 0);
    expect(bytes).toBeGreaterThan(400_000);
    expect(bytes).toBeLessThan(1_100_000);
    expect(slow.origin.acknowledged).toBe(0);
    goOn();
    expect(await clock.run(5_000, () => slow.origin.acknowledged === 300)).toBe(true);
    expect(handed).toEqual(origin.events.map(({ seq }) => seq));
  });

  it("has barriers for what the origin has now, and for what a replica holds", async () => {
    const { clock, origin, replica } = await pair();
    await origin.write("a", "one");
    await origin.write("a", "two");
    const going = talk(clock, origin, replica);
    let current = 0;
    let reached = false;
    void going.replica.barrier().then((seq) => (current = seq));
    void going.origin.reaches(3).then(() => (reached = true));
    await clock.run(clock.now + 50, () => current > 0);
    expect([current, replica.upstream.head.seq, reached]).toEqual([2, 2, false]);
    await origin.write("a", "three");
    await clock.run(clock.now + 50, () => reached);
    expect(reached).toBe(true);
    const never = going.origin.reaches(9);
    going.link.cut();
    await expect(never).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  it("refuses a barrier over a connection that has just ended, and does nothing else", async () => {
    const { clock, origin, replica } = await pair();
    await origin.write("a", "one");
    const going = talk(clock, origin, replica);
    await clock.run(clock.now + 50, () => going.origin.acknowledged === 1);
    going.link.b.close();
    // The caller does not know of the end yet. A rejection that nobody handles would end the process and fail this run.
    const refusals: unknown[] = [];
    const ask = () => going.replica.barrier().catch((error: unknown) => void refusals.push(error));
    void ask();
    await clock.run(clock.now + 10);
    void ask();
    await clock.run(clock.now + 10);
    expect(refusals).toMatchObject([{ code: "UNAVAILABLE" }, { code: "UNAVAILABLE" }]);
  });

  it("names a content that the origin does not have, and continues with the lines", async () => {
    const parts = await pair();
    await parts.origin.write("a", "x".repeat(5_000));
    parts.origin.contents.clear();
    const { replica } = await follow(parts);
    expect([...replica.missing]).toEqual([sha256("x".repeat(5_000))]);
  });

  it("fetches only the missing chunks of a large content after a cut", async () => {
    const parts = await pair();
    const { clock, origin, replica } = parts;
    const large = Array.from({ length: 5 }, (_, i) => String(i).repeat(2 * MIB)).join("");
    await origin.write("large", large);
    let pieces = 0;
    const count = (channel: ReturnType<typeof talk>["link"]["a"], most: number, cut: () => void): void => {
      const send = channel.send.bind(channel);
      channel.send = async (message) => {
        if (message.type === "ContentFetchResponse" && message.content.length > 0 && ++pieces === most) return cut();
        await send(message);
      };
    };
    const first = talk(clock, origin, replica);
    count(first.link.a, 4, () => first.link.cut());
    await clock.run(1_000, () => pieces === 4);
    await first.ends;
    expect(replica.upstream.head.seq).toBe(0);
    pieces = 0;
    const second = talk(clock, origin, replica);
    count(second.link.a, 100, () => undefined);
    expect(await clock.run(2_000, () => second.origin.acknowledged === 1)).toBe(true);
    expect(pieces).toBe(2);
    expect(await contentOf(replica, sha256(large))).toBe(large);
  });

  it.each([
    ["the notification", 2],
    ["the answer to a fetch", 3],
  ])("sends %s again over the same connection if it was lost", async (_, lost) => {
    const parts = await pair();
    await parts.origin.write("a", "x".repeat(5_000));
    // The welcome is 0, the credit for it 1.
    const deliver: TalkOptions["deliver"] = ({ from, index }) =>
      from === "a" && index === lost ? [] : [{ afterMs: 1 }];
    await follow(parts, { deliver, isReliable: false });
    expect(parts.clock.now).toBeGreaterThan(HEARTBEAT_MS);
    expect(parts.clock.now).toBeLessThan(5 * HEARTBEAT_MS);
  });

  it("tells a replica at once how many events there are, not only with the next heartbeat", async () => {
    const { clock, origin, replica } = await pair();
    await origin.write("first", "1");
    const told: number[] = [];
    const onOrigin = ({ sequence }: { readonly sequence: number }): void => void told.push(sequence);
    const going = talk(clock, origin, replica, { origin: { heartbeatMs: 100_000 }, replica: { onOrigin } });
    await clock.run(clock.now + 1_000, () => going.origin.acknowledged === 1);
    for (let i = 0; i < 10; i += 1) await origin.note(100_000);
    await clock.run(clock.now + 1_000, () => going.origin.acknowledged === 11);
    expect(told).toEqual([1, 11]);
  });

  it("hands on each event once, although every frame comes twice", async () => {
    const parts = await pair();
    const { origin, replica } = parts;
    for (let i = 0; i < 20; i += 1) await origin.write(`f${i}`, "x".repeat(i * 500));
    await origin.note(3 * MIB);
    await follow(parts, { deliver: () => [{ afterMs: 1 }, { afterMs: 1 }], isReliable: false });
    expect(replica.handedOn).toEqual(origin.events.map(({ seq }) => seq));
  });

  it.each(["a", "b"] as const)("notices that %s is silent, though the other direction works", async (silent) => {
    const { clock, origin, replica } = await pair();
    let isCut = false;
    const deliver: TalkOptions["deliver"] = ({ from }) => (isCut && from === silent ? [] : [{ afterMs: 1 }]);
    const going = talk(clock, origin, replica, { deliver });
    await clock.run(50);
    isCut = true;
    const begun = clock.now;
    let ends: Awaited<typeof going.ends> | undefined;
    void going.ends.then((both) => (ends = both));
    await clock.run(begun + 60_000, () => ends !== undefined);
    expect(clock.now - begun).toBeLessThan(6 * HEARTBEAT_MS);
    const [atOrigin, atReplica] = ends ?? [];
    expect(silent === "a" ? atReplica : atOrigin).toMatchObject({ by: "us", error: { code: "UNAVAILABLE" } });
  });
});

describe("what is refused", () => {
  async function endsOf(parts: Awaited<ReturnType<typeof pair>>, options?: TalkOptions) {
    const { clock, origin, replica } = parts;
    let ends: Awaited<ReturnType<typeof talk>["ends"]> | undefined;
    void talk(clock, origin, replica, options).ends.then((both) => (ends = both));
    await clock.run(clock.now + 20_000, () => ends !== undefined);
    return ends;
  }

  it.each([100, 10_000, 5 * MIB])("a content of %i bytes that is not what its hash names", async (size) => {
    const parts = await pair();
    const { origin, replica } = parts;
    await origin.write("good", "good");
    await origin.write("bad", "x".repeat(size));
    const lie = new Map([[sha256("x".repeat(size)), Buffer.from(`y${"x".repeat(size - 1)}`)]]);
    const [lying, honest] = [new Liar(lie), new MemoryBlobStore({ contents: origin.contents })];
    const open = async (hash: Hash) => (lie.has(hash) ? lying.open(hash) : honest.open(hash));
    async function* openNamed(hashes: readonly Hash[]) {
      for (const hash of hashes) yield [hash, await open(hash)] as const;
    }
    const ends = await endsOf(parts, { origin: { contents: { open, openNamed } } });
    expect(ends?.[1]).toMatchObject({ error: { code: "INTEGRITY_VIOLATION" } });
    expect(ends?.[0]).toMatchObject({ by: "peer", error: { code: "INTEGRITY_VIOLATION" } });
    expect(replica.upstream.head.seq).toBeLessThan(2);
    expect(await replica.blobs.has([sha256("x".repeat(size))])).toEqual(new Set());
    expect(origin.cursors.get("r1")).toBeLessThan(2);
    expect(replica.notes.get()).toBeUndefined();
  });

  it.each([
    ["rewritten", 2],
    ["shortened", 1],
  ])(
    "a history that was %s: the replica notes it for good, and refuses every later conversation",
    async (_, events) => {
      const parts = await pair();
      for (const text of ["one", "two"]) await parts.origin.write("a", text);
      (await follow(parts)).link.cut();
      const other = new RigOrigin();
      await other.write("a", "one");
      if (events === 2) for (const text of ["another two", "three"]) await other.write("a", text);
      const before = parts.replica.bytes;
      const ends = await endsOf({ ...parts, origin: other });
      expect(ends?.[1]).toMatchObject({ error: { code: "INTEGRITY_VIOLATION" } });
      expect(parts.replica.bytes).toBe(before);
      expect(parts.replica.notes.get()).toMatchObject({ workspace: "w1", sequence: 2 });
      const again = await endsOf(parts);
      expect(again?.[1]).toMatchObject({ by: "us", error: { code: "INTEGRITY_VIOLATION" } });
    },
  );

  it("a replica of another history: the origin notices, too, tells the replica, and keeps no cursor", async () => {
    const parts = await pair();
    const other = new RigOrigin();
    await other.write("a", "other");
    (await follow({ ...parts, origin: other })).link.cut();
    await parts.origin.write("a", "one");
    await parts.origin.write("a", "two");
    const ends = await endsOf(parts);
    expect(ends?.[1].error?.code).toBe("INTEGRITY_VIOLATION");
    expect(parts.replica.notes.get()).toMatchObject({ sequence: 1 });
    expect(parts.origin.cursors.get("r1")).toBeUndefined();
  });

  it("a line that follows another event than the one before", async () => {
    const parts = await pair();
    const { clock, origin, replica } = parts;
    await origin.write("a", "one");
    const going = await follow(parts);
    const fork = fileEvent(fileEvent({ seq: 0, hash: "" }, "a", "other"), "a", "two");
    await going.link.a.send({
      type: "Events",
      first_sequence: 2,
      last_sequence: 2,
      lines: Buffer.from(`${fork.line}\n`),
    });
    await clock.run(clock.now + 100, () => replica.notes.get() !== undefined);
    await clock.run(clock.now + 10);
    expect((await going.ends)[1]).toMatchObject({ error: { code: "INTEGRITY_VIOLATION" } });
    expect(replica.notes.get()).toMatchObject({ sequence: 1, held: origin.events[0]?.hash });
  });

  it("acknowledgements and catch-ups of what was never sent; a catch-up of another replica; another workspace", async () => {
    const cases: readonly (readonly [Message, string])[] = [
      [{ type: "Ack", up_to_sequence: 2 }, "INTEGRITY_VIOLATION"],
      [{ type: "CatchupRequest", sandbox_id: "r1", since_sequence: 7 }, "INTEGRITY_VIOLATION"],
      [{ type: "CatchupRequest", sandbox_id: "r2", since_sequence: 0 }, "USAGE"],
    ];
    for (const [message, code] of cases) {
      const parts = await pair();
      await parts.origin.write("a", "one");
      const going = await follow(parts);
      await going.link.b.send(message);
      await parts.clock.run(parts.clock.now + 10);
      expect((await going.ends)[0]).toMatchObject({ error: { code } });
      expect(parts.origin.cursors.get("r1")).toBe(1);
    }
    const parts = await pair();
    expect((await endsOf(parts, { replica: { workspace: "w2" } }))?.[1]).toMatchObject({
      error: { code: "NOT_FOUND" },
    });
  });

  it("a replica that is too far behind", async () => {
    const parts = await pair();
    for (let i = 0; i < 5; i += 1) await parts.origin.write("a", `${i}`);
    const ends = await endsOf(parts, { origin: { maxBehind: 4 } });
    expect(ends?.[1]).toMatchObject({ error: { code: "LIMIT_EXCEEDED" } });
    expect(parts.replica.upstream.head.seq).toBe(0);
  });

  it("a signed head that is not the origin's, or not of this history", async () => {
    const key = generateKey();
    const vkey = vkeyOf(key.publicKeyPem, "origin");
    const noteOf = (hash: Hash, pem = key.privateKeyPem) => {
      const content = { workspace: "w1", seq: 1, hash, logRoot: hash, root: hash };
      return { origin: { signedHead: async () => signHead(encodeHead(content), pem, "origin") }, replica: { vkey } };
    };
    const good = await pair();
    await good.origin.write("a", "one");
    await follow(good, noteOf(good.origin.head.hash as Hash));
    const wrong = await pair();
    await wrong.origin.write("a", "one");
    const ends = await endsOf(wrong, noteOf(sha256("another")));
    expect(ends?.[1]).toMatchObject({ error: { code: "INTEGRITY_VIOLATION" } });
    expect(wrong.replica.notes.get()).toMatchObject({ sequence: 1, told: sha256("another") });
    const forged = await pair();
    await forged.origin.write("a", "one");
    const other = noteOf(forged.origin.head.hash as Hash, generateKey().privateKeyPem);
    expect((await endsOf(forged, other))?.[1]).toMatchObject({ error: { code: "INTEGRITY_VIOLATION" } });
    expect(forged.replica.notes.get()).toBeUndefined();
  });
});

/** Answers with other bytes than a hash names, and checks nothing. */
class Liar {
  readonly #contents: ReadonlyMap<Hash, Buffer>;

  constructor(contents: ReadonlyMap<Hash, Buffer>) {
    this.#contents = contents;
  }

  open(hash: Hash) {
    const bytes = this.#contents.get(hash);
    if (bytes === undefined) return undefined;
    const pieces = async function* ({ start, end } = { start: 0, end: bytes.length }) {
      yield bytes.subarray(start, end);
    };
    return { size: bytes.length, pieces };
  }
}
