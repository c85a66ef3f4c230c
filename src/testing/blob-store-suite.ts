import { afterEach, describe, expect, test } from "vitest";
import { EMPTY_HASH, sha256, type Hash } from "../core/values/hash.ts";
import type { BlobInfo, BlobProblem, BlobReader, BlobStore } from "../storage/blob-store.ts";

/** One blob store, and the operations that only its backend can do. */
export interface BlobBackend {
  /**
   * Opens another object on the same store, as another process would. The object should wait for a lock for about 100
   * ms at most.
   */
  open(): Promise<BlobStore>;
  /** Flips a bit in a content's stored bytes. All stores are closed when it is called. */
  flipBit(hash: Hash): void | Promise<void>;
}

const KIB = 1024;
const MIB = 1024 * KIB;
const made = new Map<string, Buffer>();

/** Returns `length` bytes that depend only on the arguments. If `shallow` is true, they compress well. */
export function someBytes(length: number, seed: number, shallow = false): Buffer {
  const key = `${length} ${seed} ${shallow}`;
  const known = made.get(key);
  if (known !== undefined) return Buffer.from(known);
  const bytes = Buffer.allocUnsafe(length);
  let state = (seed + 1) * 2_654_435_761;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[i] = shallow ? 97 + ((state >>> 24) & 3) : state >>> 24;
  }
  if (length <= MIB) made.set(key, Buffer.from(bytes));
  return bytes;
}

/** Returns all bytes of a reader. */
export async function readAll(reader: BlobReader | undefined): Promise<Buffer | undefined> {
  if (reader === undefined) return undefined;
  const pieces: Buffer[] = [];
  for await (const piece of reader.pieces()) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

/** Stores contents in one batch and returns their hashes. */
export async function putAll(store: BlobStore, contents: readonly Uint8Array[]): Promise<Hash[]> {
  const batch = await store.batch();
  const hashes: Hash[] = [];
  for (const content of contents) hashes.push(await batch.put(content));
  await batch.commit();
  return hashes;
}

/** Returns all problems that `verify` finds. */
export async function problemsOf(store: BlobStore): Promise<BlobProblem[]> {
  return Array.fromAsync(store.verify());
}

/** The contract of `BlobStore`. `begin` makes a fresh, empty store. */
export function blobStoreSuite(name: string, begin: () => BlobBackend): void {
  describe(name, () => {
    const opened: BlobStore[] = [];
    async function open(backend: BlobBackend): Promise<BlobStore> {
      const store = await backend.open();
      opened.push(store);
      return store;
    }
    afterEach(async () => {
      for (const store of opened.splice(0)) await store.close();
    });

    describe("writing", () => {
      test("a content is read as it was put, and its name is its SHA-256", async () => {
        const store = await open(begin());
        const content = someBytes(5 * KIB, 1);
        const [hash] = await putAll(store, [content]);
        expect(hash).toBe(sha256(content));
        expect(await store.get(sha256(content))).toEqual(content);
      });

      test("no content is visible before the commit", async () => {
        const backend = begin();
        const [store, other] = [await open(backend), await open(backend)];
        const batch = await store.batch();
        const hash = await batch.put(Buffer.from("later"));
        for (const each of [store, other]) {
          expect(await each.has([hash])).toEqual(new Set());
          expect(await each.get(hash)).toBeUndefined();
          expect(await each.open(hash)).toBeUndefined();
        }
        await batch.commit();
        for (const each of [store, other]) {
          expect(await each.has([hash])).toEqual(new Set([hash]));
          expect(await each.get(hash)).toEqual(Buffer.from("later"));
        }
      });

      test("no content of an abandoned batch is visible; abandoning again does nothing", async () => {
        const backend = begin();
        const store = await open(backend);
        const batch = await store.batch();
        const hash = await batch.put(Buffer.from("never"));
        await batch.abandon();
        await batch.abandon();
        expect(await store.get(hash)).toBeUndefined();
        await expect(batch.put(Buffer.from("x"))).rejects.toThrow();
        await expect(batch.commit()).rejects.toThrow();
      });

      test("abandon after commit does nothing", async () => {
        const store = await open(begin());
        const batch = await store.batch();
        const hash = await batch.put(Buffer.from("stays"));
        await batch.commit();
        await batch.abandon();
        expect(await store.get(hash)).toEqual(Buffer.from("stays"));
      });

      test("the caller may reuse its buffer once put has resolved", async () => {
        const store = await open(begin());
        const buffer = Buffer.from("first");
        const batch = await store.batch();
        const hash = await batch.put(buffer);
        buffer.fill(0);
        await batch.commit();
        expect(await store.get(hash)).toEqual(Buffer.from("first"));
      });

      test("contents are stored that are empty, have one byte, or have a size around the limits of blocks", async () => {
        const store = await open(begin());
        const sizes = [0, 1, 63, 64, 255 * KIB, 256 * KIB - 1, 256 * KIB, 256 * KIB + 1, MIB];
        const contents = sizes.flatMap((size) => [someBytes(size, size), someBytes(size, size, true)]);
        const hashes = await putAll(store, contents);
        expect(hashes[0]).toBe(EMPTY_HASH);
        for (const [i, hash] of hashes.entries()) expect(await store.get(hash)).toEqual(contents[i]);
        expect(await problemsOf(store)).toEqual([]);
      });

      test("contents of 20 MiB are stored: random and compressible, whole and in pieces", async () => {
        const backend = begin();
        const store = await open(backend);
        const random = someBytes(20 * MIB, 7);
        const text = someBytes(20 * MIB, 8, true);
        const batch = await store.batch();
        const hash = await batch.put(random);
        const streamed = await batch.putStream(cut(text, 700_001));
        expect(streamed).toEqual({ hash: sha256(text), size: text.length });
        await batch.commit();
        const other = await open(backend);
        expect((await other.get(hash))?.equals(random)).toBe(true);
        expect((await readAll(await other.open(streamed.hash)))?.equals(text)).toBe(true);
        for await (const piece of (await other.open(hash))?.pieces() ?? [])
          expect(piece.length).toBeLessThanOrEqual(MIB);
        expect(await problemsOf(other)).toEqual([]);
      });

      test("a range yields its part of the content: within a piece, across pieces, at the end, and beyond the end", async () => {
        const store = await open(begin());
        const contents = [someBytes(3 * KIB, 1), someBytes(9 * MIB + 17, 2), someBytes(9 * MIB + 17, 3, true)];
        for (const [i, hash] of (await putAll(store, contents)).entries()) {
          const content = contents[i] ?? Buffer.alloc(0);
          const end = content.length;
          const ranges = [
            [0, 10],
            [5, 5],
            [0, end],
            [1_000, 2_500],
            [MIB - 3, MIB + 3],
            [2 * MIB, 5 * MIB + 1],
            [end - 1, end + 100],
            [end, end + 1],
            [end + 5, end + 9],
          ] as const;
          for (const [from, to] of ranges) {
            const read: Buffer[] = [];
            for await (const piece of (await store.open(hash))?.pieces({ start: from, end: to }) ?? []) {
              expect(piece.length).toBeLessThanOrEqual(MIB);
              read.push(Buffer.from(piece));
            }
            expect(Buffer.concat(read).equals(content.subarray(from, to)), `${i}: ${from} to ${to}`).toBe(true);
          }
        }
      });

      test("a small stream is an ordinary content; a stream that fails leaves the batch usable", async () => {
        const store = await open(begin());
        const batch = await store.batch();
        const small = await batch.putStream([Buffer.from("ab"), Buffer.from("c")]);
        expect(small).toEqual({ hash: sha256("abc"), size: 3 });
        await expect(batch.putStream(failing())).rejects.toThrow("source");
        await batch.commit();
        expect(await store.get(small.hash)).toEqual(Buffer.from("abc"));
        expect(await problemsOf(store)).toEqual([]);
      });

      test("a content that is put again, in the same batch or later, is stored once", async () => {
        const store = await open(begin());
        const content = someBytes(100 * KIB, 3);
        await putAll(store, [content, content]);
        await putAll(store, [content]);
        const listed = await Array.fromAsync(store.list());
        expect(listed.map(({ hash, size }) => ({ hash, size }))).toEqual([
          { hash: sha256(content), size: content.length },
        ]);
        expect(listed[0]?.storedBytes).toBeLessThan(content.length + KIB);
      });

      test("concurrent batches with common contents store every content", async () => {
        const backend = begin();
        const stores = [await open(backend), await open(backend)];
        const contents = Array.from({ length: 40 }, (_, i) => someBytes(500 + i * 100, i, i % 2 === 0));
        const runs = Array.from({ length: 8 }, async (_, i) => {
          const batch = await (stores[i % 2] as BlobStore).batch();
          for (const content of contents.slice(i, i + 32)) await batch.put(content);
          if (i === 3) return batch.abandon();
          return batch.commit();
        });
        await Promise.all(runs);
        for (const store of stores) {
          for (const content of contents.slice(0, 39)) expect(await store.get(sha256(content))).toEqual(content);
        }
        expect(await problemsOf(stores[0] as BlobStore)).toEqual([]);
      });
    });

    describe("reading", () => {
      test("a missing content is undefined", async () => {
        const store = await open(begin());
        const nothing = sha256("nothing");
        expect(await store.get(nothing)).toBeUndefined();
        expect(await store.open(nothing)).toBeUndefined();
        expect(await store.has([nothing])).toEqual(new Set());
        expect(await Array.fromAsync(store.list())).toEqual([]);
      });

      test("a reopened store has all contents", async () => {
        const backend = begin();
        const contents = Array.from({ length: 50 }, (_, i) => someBytes(i * 37, i));
        const first = await open(backend);
        const hashes = await putAll(first, contents);
        await first.close();
        const again = await open(backend);
        expect(await again.has([...hashes, sha256("no")])).toEqual(new Set(hashes));
        for (const [i, hash] of hashes.entries()) expect(await again.get(hash)).toEqual(contents[i]);
      });

      test("readMany yields each content once, and missing ones with undefined", async () => {
        const store = await open(begin());
        const contents = Array.from({ length: 30 }, (_, i) => someBytes(2_000 + i, i));
        const hashes = await putAll(store, contents);
        const missing = sha256("missing");
        const read = new Map<Hash, Buffer | undefined>();
        for await (const [hash, reader] of store.readMany([...hashes.toReversed(), missing, ...hashes])) {
          expect(read.has(hash)).toBe(false);
          read.set(hash, await readAll(reader));
        }
        expect(read.size).toBe(31);
        expect(read.get(missing)).toBeUndefined();
        for (const [i, hash] of hashes.entries()) expect(read.get(hash)).toEqual(contents[i]);
      });

      test("the caller may change a returned buffer", async () => {
        const store = await open(begin());
        const [hash] = await putAll(store, [Buffer.from("mine"), Buffer.from("other")]);
        (await store.get(hash as Hash))?.fill(0);
        expect(await store.get(hash as Hash)).toEqual(Buffer.from("mine"));
      });

      test("list yields the size and the stored size of each content", async () => {
        const store = await open(begin());
        await putAll(store, [someBytes(100, 1), someBytes(200, 2)]);
        const listed: BlobInfo[] = await Array.fromAsync(store.list());
        expect(listed.map(({ size }) => size).toSorted((a, b) => a - b)).toEqual([100, 200]);
        for (const { storedBytes } of listed) expect(storedBytes).toBeGreaterThan(0);
      });

      test("infos yields what list says of some contents, without the missing ones", async () => {
        const store = await open(begin());
        const [hash] = await putAll(store, [someBytes(100, 1), someBytes(200, 2)]);
        const listed: BlobInfo[] = await Array.fromAsync(store.list());
        const wanted = [hash as Hash, sha256(Buffer.from("missing")), hash as Hash];
        expect(await store.infos(wanted)).toEqual(listed.filter((one) => one.hash === hash));
      });
    });

    describe("damage", () => {
      test.each([
        ["a small content", someBytes(3_000, 1)],
        ["a compressed content", someBytes(60_000, 2, true)],
        ["a large content", someBytes(9 * MIB, 3)],
        ["a large compressed content", someBytes(9 * MIB, 4, true)],
      ])("%s with a flipped bit is never yielded as a whole, and verify names it", async (_, content) => {
        const backend = begin();
        const store = await open(backend);
        const [hash] = (await putAll(store, [content])) as [Hash];
        const [sound] = (await putAll(store, [Buffer.from("sound")])) as [Hash];
        await store.close();
        await backend.flipBit(hash);
        const again = await open(backend);
        await expect(again.get(hash)).rejects.toMatchObject({ code: "BLOB_CORRUPT", data: { hash } });
        const wholeRange = { start: 0, end: content.length };
        for (const range of [undefined, wholeRange]) {
          let yielded = 0;
          const reading = async (): Promise<void> => {
            for await (const piece of (await again.open(hash))?.pieces(range) ?? []) yielded += piece.length;
          };
          await expect(reading()).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
          expect(yielded).toBeLessThan(content.length);
        }
        const proved = async (): Promise<void> => {
          const reader = await again.open(hash);
          await reader?.prove?.();
          for await (const _piece of reader?.pieces({ start: 0, end: 1 }) ?? []);
        };
        await expect(proved()).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
        const whole: Hash[] = [];
        const problems = await Array.fromAsync(again.verify({ onBlob: (each) => whole.push(each) }));
        expect(problems.flatMap(({ hashes }) => hashes)).toContain(hash);
        expect(whole).toEqual([sound]);
        expect(await again.get(sound)).toEqual(Buffer.from("sound"));
      });

      test.each([
        ["a small content", someBytes(3_000, 1)],
        ["a large compressed content", someBytes(9 * MIB, 4, true)],
      ])("%s with a flipped bit counts as stored, but not as sound until it is put again", async (_, content) => {
        const backend = begin();
        const store = await open(backend);
        const [hash, other] = (await putAll(store, [content, Buffer.from("sound")])) as [Hash, Hash];
        await store.close();
        await backend.flipBit(hash);
        const again = await open(backend);
        expect(await again.has([hash])).toEqual(new Set([hash]));
        expect(await again.sound([hash])).toEqual(new Set());
        await putAll(again, [content, Buffer.from("sound")]);
        expect(await again.sound([hash, other])).toEqual(new Set([hash, other]));
        expect((await again.get(hash))?.equals(content)).toBe(true);
        expect(await problemsOf(again)).toEqual([]);
      });

      test("verify of a sound store finds no problem, visits every content and reports its progress", async () => {
        const store = await open(begin());
        const hashes = await putAll(store, [someBytes(1_000, 1), someBytes(300_000, 2, true), someBytes(9 * MIB, 3)]);
        const met = new Set<Hash>();
        let last: readonly [number, number] = [0, 0];
        const onProgress = (done: number, total: number): void => {
          expect(done).toBeGreaterThanOrEqual(last[0]);
          last = [done, total];
        };
        expect(await Array.fromAsync(store.verify({ onBlob: (hash) => met.add(hash), onProgress }))).toEqual([]);
        expect(met).toEqual(new Set(hashes));
        expect(last[0]).toBe(last[1]);
        expect(last[1]).toBeGreaterThan(9 * MIB);
      });
    });

    describe("collecting", () => {
      test("frees exactly the contents that are not kept", async () => {
        const backend = begin();
        const store = await open(backend);
        const contents = [
          ...Array.from({ length: 20 }, (_, i) => someBytes(4_000, i)),
          someBytes(9 * MIB, 50),
          someBytes(9 * MIB, 51),
        ];
        const hashes = await putAll(store, contents);
        const kept = new Set(hashes.filter((_, i) => i % 2 === 0));
        const report = await store.collect((hash) => kept.has(hash));
        expect([report.freedBlobs, report.pendingBlobs]).toEqual([11, 0]);
        expect(report.freedBytes).toBeGreaterThan(9 * MIB);
        const other = await open(backend);
        for (const each of [store, other]) {
          expect(await each.has(hashes)).toEqual(kept);
          for (const [i, hash] of hashes.entries()) {
            expect((await each.get(hash))?.equals(contents[i] as Buffer)).toBe(kept.has(hash) ? true : undefined);
          }
        }
        expect(await problemsOf(store)).toEqual([]);
        const again = await putAll(store, contents);
        expect(await store.has(again)).toEqual(new Set(hashes));
      });

      test("waits for a running batch, and only then asks which contents to keep", async () => {
        const backend = begin();
        const [store, collector] = [await open(backend), await open(backend)];
        const batch = await store.batch();
        const hash = await batch.put(Buffer.from("on its way"));
        let named = false;
        const collecting = collector.collect(() => named);
        await new Promise((resolve) => setTimeout(resolve, 10));
        await batch.commit();
        named = true;
        await collecting;
        expect(await store.get(hash)).toEqual(Buffer.from("on its way"));
      });

      test("fails with LOCKED while a lease is held, and works afterwards", async () => {
        const backend = begin();
        const [store, collector] = [await open(backend), await open(backend)];
        const [hash] = (await putAll(store, [Buffer.from("seen")])) as [Hash];
        const lease = await store.lease();
        const second = await store.lease();
        second.release();
        await expect(collector.collect(() => false)).rejects.toMatchObject({ code: "LOCKED" });
        expect(await store.has([hash])).toEqual(new Set([hash]));
        lease.release();
        // The other store may still be using its pack.
        const { freedBlobs, pendingBlobs } = await collector.collect(() => false);
        expect(freedBlobs + pendingBlobs).toBe(1);
        expect(await store.get(hash)).toBeUndefined();
      });

      test("whenLocked is called before keep", async () => {
        const store = await open(begin());
        const [hash] = (await putAll(store, [Buffer.from("marked late")])) as [Hash];
        const alive = new Set<Hash>();
        await store.collect((each) => alive.has(each), { whenLocked: async () => void alive.add(hash) });
        expect(await store.get(hash)).toEqual(Buffer.from("marked late"));
      });

      test("frees nothing in an empty store", async () => {
        const store = await open(begin());
        const nothing = { freedBlobs: 0, freedBytes: 0, pendingBlobs: 0, pendingBytes: 0 };
        expect(await store.collect(() => true)).toEqual(nothing);
      });
    });

    test("close abandons batches, and may be called twice", async () => {
      const backend = begin();
      const store = await open(backend);
      const batch = await store.batch();
      const hash = await batch.put(Buffer.from("half"));
      await store.close();
      await store.close();
      const again = await open(backend);
      expect(await again.get(hash)).toBeUndefined();
      await again.collect(() => true);
      expect(await problemsOf(again)).toEqual([]);
    });
  });
}

async function* failing(): AsyncIterable<Uint8Array> {
  yield someBytes(9 * MIB, 1);
  throw new Error("the source broke");
}

function* cut(bytes: Buffer, length: number): Iterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}
