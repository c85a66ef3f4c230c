import { describe, expect, it } from "vitest";
import { ChronicleError } from "../../core/values/errors.ts";
import { sha256, type Hash } from "../../core/values/hash.ts";
import { MemoryBlobStore } from "../../storage/memory/memory-blob-store.ts";
import { someBytes } from "../../testing/blob-store-suite.ts";
import type { OfferedContent } from "../log/repair-source.ts";
import { StoreAnew } from "./repair.ts";

const SMALL = someBytes(3_000, 1);
const LARGE = someBytes(9 * 1024 * 1024, 2);

function offerOf(wanted: Buffer, pieces: OfferedContent["pieces"], size = wanted.length): OfferedContent {
  return { hash: sha256(wanted), size, where: "somewhere", pieces };
}

async function taken(offers: readonly OfferedContent[]): Promise<{ stored: Hash[]; blobs: MemoryBlobStore }> {
  const blobs = new MemoryBlobStore();
  const stored: Hash[] = [];
  const anew = new StoreAnew(blobs, (hash) => stored.push(hash));
  for (const offer of offers) await anew.take(offer);
  await anew.commit();
  return { stored, blobs };
}

describe.each([
  ["a small content", SMALL],
  ["a large content", LARGE],
])("%s that is offered", (_, content) => {
  const flipped = Buffer.from(content);
  flipped[100] = (flipped[100] ?? 0) ^ 1;

  it("is stored if its bytes have its hash", async () => {
    const { stored, blobs } = await taken([offerOf(content, () => [content])]);
    expect(stored).toEqual([sha256(content)]);
    expect((await blobs.get(sha256(content)))?.equals(content)).toBe(true);
  });

  it.each<[string, OfferedContent]>([
    ["other bytes", offerOf(content, () => [flipped])],
    ["more bytes than its size", offerOf(content, () => [content, Buffer.from("more")])],
    ["endless bytes", offerOf(content, endless)],
    ["an error", offerOf(content, failing)],
    ["fewer bytes than its size", offerOf(content, () => [content.subarray(1)])],
  ])("is not stored if the offer gives %s", async (_what, offer) => {
    const { stored, blobs } = await taken([offer]);
    expect(stored).toEqual([]);
    expect(await Array.fromAsync(blobs.list())).toEqual([]);
  });

  it("is taken from the next offer if the first one is wrong", async () => {
    const { stored } = await taken([offerOf(content, () => [flipped]), offerOf(content, () => [content])]);
    expect(stored).toEqual([sha256(content)]);
  });
});

it("a large content that changes between its two reads is not stored", async () => {
  let looks = 0;
  const offer = offerOf(LARGE, () => ((looks += 1) === 1 ? [LARGE] : [someBytes(LARGE.length, 3)]));
  const { stored, blobs } = await taken([offer]);
  expect([looks, stored, await Array.fromAsync(blobs.list())]).toEqual([2, [], []]);
});

it("an error of the store is thrown, and not taken for a fault of the offered content", async () => {
  const blobs = new MemoryBlobStore();
  await blobs.close();
  const anew = new StoreAnew(blobs, () => undefined);
  await expect(anew.take(offerOf(LARGE, () => [LARGE]))).rejects.toMatchObject({ code: "IO" });
});

function* endless(): Generator<Uint8Array, void> {
  for (;;) yield Buffer.alloc(1024 * 1024);
}

function* failing(): Generator<Uint8Array, void> {
  yield SMALL.subarray(0, 10);
  throw new ChronicleError("UNAVAILABLE", "the connection ended");
}
