import { describe, expect, it } from "vitest";
import { sha256, type Hash } from "../../src/core/values/hash.ts";
import type { BlobBlock } from "../../src/storage/blob-block.ts";
import type { BlobStore } from "../../src/storage/blob-store.ts";
import { packBlocks } from "../../src/storage/pack-blocks.ts";
import { someBytes } from "../../src/testing/blob-store-suite.ts";
import { fileEvent } from "../../src/testing/protocol-samples.ts";
import { HEARTBEAT_MS, RigOrigin, RigReplica, talk, type TalkOptions } from "../../src/testing/push-rig.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import type { Message, MessageType } from "../../src/replication/protocol/messages.ts";

const MIB = 1024 * 1024;

/** An origin with some files that are too large to be sent inline, and a replica without files. */
async function pair(files = 40) {
  const origin = new RigOrigin();
  for (let i = 0; i < files; i += 1) await origin.write(`f${i}`, `content ${i} `.repeat(500));
  return { clock: new VirtualClock(), origin, replica: await RigReplica.start(RigReplica.emptyDisk()) };
}

type Parts = Awaited<ReturnType<typeof pair>>;

/** Begins a conversation, and counts the messages of both sides. */
function begin({ clock, origin, replica }: Parts, options: TalkOptions = {}) {
  const going = talk(clock, origin, replica, { ...options, origin: { blocks: origin.blobs, ...options.origin } });
  const said: Message[] = [];
  for (const channel of [going.link.a, going.link.b]) {
    const send = channel.send.bind(channel);
    channel.send = (message) => (said.push(message), send(message));
  }
  const count = (type: MessageType): number => said.filter((message) => message.type === type).length;
  return { ...going, said, count };
}

async function untilEqual(parts: Parts, going: ReturnType<typeof begin>): Promise<void> {
  const { clock, origin, replica } = parts;
  expect(await clock.run(clock.now + 60_000, () => going.origin.acknowledged === origin.head.seq)).toBe(true);
  expect(replica.bytes).toBe(origin.bytes);
}

async function holdsAll({ origin, replica }: Parts): Promise<void> {
  for (const [hash, content] of origin.contents) expect((await replica.blobs.get(hash))?.equals(content)).toBe(true);
}

describe("contents in blocks", () => {
  it("come many to a question, and unchanged", async () => {
    const parts = await pair();
    const going = begin(parts);
    await untilEqual(parts, going);
    await holdsAll(parts);
    expect(going.count("ContentFetchRequest")).toBe(0);
    expect(going.count("BlocksRequest")).toBeLessThan(10);
    expect(await Array.fromAsync(parts.replica.blobs.verify())).toEqual([]);
  });

  it("an origin that does not know blocks is asked for the contents one by one", async () => {
    const parts = await pair(5);
    const { blocks: _, ...options } = parts.origin.options(parts.clock);
    const going = talk(parts.clock, parts.origin, parts.replica, { origin: options });
    expect(await parts.clock.run(60_000, () => going.origin.acknowledged === 5)).toBe(true);
    await holdsAll(parts);
  });

  it("a content that is gone is named, and one that is too large for a block is fetched on its own", async () => {
    const parts = await pair(6);
    const { origin, replica } = parts;
    const large = someBytes(5 * MIB, 1).toString("latin1");
    await origin.write("large", large);
    const gone = sha256("content 3 ".repeat(500));
    origin.contents.delete(gone);
    const going = begin(parts);
    await untilEqual(parts, going);
    await holdsAll(parts);
    expect(await replica.blobs.has([sha256(large)])).toEqual(new Set([sha256(large)]));
    expect([...going.replica.missing]).toEqual([gone]);
    expect(going.said).toContainEqual(expect.objectContaining({ type: "BlocksResponse", absent: [gone] }));
    expect(going.count("ContentFetchRequest")).toBeGreaterThan(0);
  });

  it("the contents of a lost answer are asked for again", async () => {
    const parts = await pair(30);
    const { clock, origin } = parts;
    let lost = 0;
    const blobs = origin.blobs;
    const going = begin(parts, {
      // Each answer has one content.
      origin: {
        blocks: {
          has: (hashes) => blobs.has(hashes),
          async *blocks(hashes) {
            for (const hash of hashes) yield* packBlocks([Buffer.concat([(await blobs.get(hash)) ?? Buffer.alloc(0)])]);
          },
        },
      },
      isReliable: false,
      deliver: ({ from, bytes }) => {
        const isBlocks = from === "a" && Buffer.from(bytes).includes('"BlocksResponse"');
        if (!isBlocks || lost > 0) return [{ afterMs: 1 }];
        lost += 1;
        return [];
      },
    });
    await untilEqual(parts, going);
    await holdsAll(parts);
    expect(lost).toBe(1);
    expect(clock.now).toBeGreaterThan(HEARTBEAT_MS);
  });

  it("questions that come while an answer is sent are looked up together meanwhile, and each content only once", async () => {
    const parts = await pair(0);
    const { clock, origin } = parts;
    for (let i = 0; i < 12; i += 1) await origin.write(`f${i}`, someBytes(300 * 1024, i).toString("latin1"));
    const steps: string[] = [];
    const lookedUp: Hash[][] = [];
    const blobs = origin.blobs;
    const going = begin(parts, {
      origin: {
        blocks: {
          has: (hashes) => blobs.has(hashes),
          async *blocks(hashes, mostBytes) {
            steps.push("look up");
            lookedUp.push([...hashes]);
            // Waits until all questions have come.
            await new Promise<void>((resolve) => void clock.after(50, resolve));
            yield* blobs.blocks(hashes, mostBytes);
          },
        },
      },
    });
    const { a, b } = going.link;
    const [answer, ask] = [a.send.bind(a), b.send.bind(b)];
    a.send = (message) => (message.type === "BlocksResponse" && steps.push("send"), answer(message));
    let asked = 0;
    // The first long question is sent as four questions, of which two are the same.
    b.send = async (message) => {
      if (message.type !== "BlocksRequest" || asked > 0 || message.hashes.length < 6 * 32) return ask(message);
      const { hashes } = message;
      asked = hashes.length / 32;
      steps.length = lookedUp.length = 0;
      for (const [from, to] of [
        [0, 3],
        [0, 3],
        [3, 4],
        [4, asked],
      ] as const)
        await ask({ type: "BlocksRequest", hashes: hashes.subarray(from * 32, to * 32) });
    };
    await untilEqual(parts, going);
    await holdsAll(parts);
    expect(asked).toBeGreaterThanOrEqual(6);
    expect(lookedUp.slice(0, 2).map((hashes) => hashes.length)).toEqual([3, asked - 3]);
    // The second question is looked up while the answer to the first is sent.
    expect(steps.slice(0, 3)).toEqual(["look up", "send", "look up"]);
    expect(new Set(lookedUp.flat()).size).toBe(lookedUp.flat().length);
  });

  it("an origin stops reading contents while the replica does not store those that were sent", async () => {
    const parts = await pair(0);
    const { clock, origin } = parts;
    const texts = Array.from({ length: 24 }, (_, i) => someBytes(MIB, i).toString("latin1"));
    for (const [i, text] of texts.entries()) {
      origin.contents.set(sha256(text), Buffer.from(text));
      await origin.append(fileEvent(origin.head, `f${i}`, text));
    }
    let read = 0;
    const blocks = {
      has: (hashes: readonly Hash[]) => origin.blobs.has(hashes),
      async *blocks(hashes: readonly Hash[], most: number): AsyncGenerator<BlobBlock> {
        for await (const block of origin.blobs.blocks(hashes, most)) {
          read += 1;
          yield block;
        }
      },
    };
    let goOn = (): void => undefined;
    const stuck = new Promise<void>((resolve) => (goOn = resolve));
    const going = begin(parts, { origin: { blocks }, replica: { blobs: slowed(parts.replica.blobs, stuck) } });
    await clock.run(clock.now + 1_000);
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThan(16);
    goOn();
    await untilEqual(parts, going);
    await holdsAll(parts);
    expect(read).toBe(24);
  });

  it("the contents that are missing after a cut of the connection come over the next one", async () => {
    const parts = await pair(40);
    const going = begin(parts);
    await parts.clock.run(60_000, () => going.count("BlocksResponse") > 0);
    going.link.cut();
    await going.ends;
    const again = begin(parts);
    await untilEqual(parts, again);
    await holdsAll(parts);
  });
});

/** The same store, but its batches wait for `until` before they take a block. */
function slowed(blobs: BlobStore, until: Promise<void>): BlobStore {
  return new Proxy(blobs, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== "batch") return typeof value === "function" ? value.bind(target) : value;
      return async () => {
        const batch = await target.batch();
        const put = batch.putBlock.bind(batch);
        batch.putBlock = async (block) => {
          await until;
          await put(block);
        };
        return batch;
      };
    },
  });
}
