import { describe, expect, test } from "vitest";
import { ChronicleError } from "../../core/values/errors.ts";
import { hashToBytes, sha256, type Hash } from "../../core/values/hash.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { countingIds, SimBlobs } from "../../testing/blob-store-rig.ts";
import { problemsOf, putAll, readAll, someBytes } from "../../testing/blob-store-suite.ts";
import { MemoryBlobIndex } from "../memory/memory-blob-index.ts";
import type { BlobPlace } from "../blob-index.ts";
import type { SinkResult } from "../blob-intake.ts";
import { BlobRowsBuilder } from "../blob-rows.ts";
import { openPackSink } from "./pack-sink.ts";

type PackPlace = Extract<BlobPlace, { readonly kind: "pack" }>;

const KIB = 1024;
const MIB = 1024 * KIB;

describe("a disk in trouble", () => {
  test("a full disk: a commit fails with IO and a hint, leaves nothing half-done, and works once there is room", async () => {
    const disk = new SimDisk({ capacityBytes: 200 * KIB });
    disk.makeFolder("/home");
    const ballast = disk.open("/ballast", "create");
    disk.write(ballast, Buffer.alloc(120 * KIB), 0);
    disk.close(ballast);
    const blobs = new SimBlobs(disk);
    const store = await blobs.open();
    const [early] = (await putAll(store, [someBytes(20 * KIB, 1)])) as [Hash];
    const batch = await store.batch();
    const late = await batch.put(someBytes(100 * KIB, 2));
    await expect(batch.commit()).rejects.toMatchObject({ code: "IO", hint: expect.stringContaining("space") });
    expect(await store.has([early, late])).toEqual(new Set([early]));
    expect(await problemsOf(store)).toEqual([]);
    await putAll(store, [someBytes(10 * KIB, 3)]);
    disk.unlink("/ballast");
    await putAll(store, [someBytes(100 * KIB, 2)]);
    expect(await store.get(late)).toEqual(someBytes(100 * KIB, 2));
    await store.close();
    expect(await problemsOf(await blobs.restarted().open())).toEqual([]);
  });

  test("a failed sync: writes are refused while the disk fails, reads still work, and the store works again after that", async () => {
    const blobs = new SimBlobs();
    blobs.disk.syncFolder("/");
    const store = await blobs.open();
    const [early] = (await putAll(store, [someBytes(2_000, 1)])) as [Hash];
    const waiting = await store.batch();
    await waiting.put(someBytes(100, 9));
    blobs.disk.plan = ({ name }) => (name === "sync" ? { errno: "EIO" } : "go");
    await expect(putAll(store, [someBytes(2_000, 2)])).rejects.toMatchObject({ code: "IO" });
    await expect(store.batch()).rejects.toMatchObject({ code: "POISONED", data: { errno: "EIO" } });
    blobs.disk.plan = undefined;
    // A batch that was begun before the failure cannot be committed to the store that starts again.
    await expect(store.batch()).rejects.toMatchObject({ code: "POISONED", message: expect.stringContaining("ended") });
    await expect(waiting.commit()).rejects.toMatchObject({ code: "POISONED" });
    await expect(store.publish([])).rejects.toMatchObject({ code: "POISONED" });
    expect(await store.get(early)).toEqual(someBytes(2_000, 1));
    expect(await store.has([sha256(someBytes(2_000, 2))])).toEqual(new Set());
    await putAll(store, [someBytes(2_000, 3)]);
    await store.close();
    for (const left of ["keep", "forget"] as const) {
      const again = await blobs.restarted(blobs.disk.crash(left)).open();
      expect(await again.get(early)).toEqual(someBytes(2_000, 1));
      expect(await again.get(sha256(someBytes(2_000, 3)))).toEqual(someBytes(2_000, 3));
      await putAll(again, [someBytes(2_000, 2)]);
      expect(await problemsOf(again)).toEqual([]);
    }
  });

  test("a failed sync of a large content poisons the store, too", async () => {
    const blobs = new SimBlobs();
    const store = await blobs.open({ largeBytes: 10 * KIB });
    blobs.disk.plan = ({ name, path }) => (name === "sync" && path.includes("large") ? { errno: "EIO" } : "go");
    const batch = await store.batch();
    await expect(batch.put(someBytes(20 * KIB, 1))).rejects.toMatchObject({ code: "IO" });
    blobs.disk.plan = ({ name }) => (name === "sync" ? { errno: "EIO" } : "go");
    await batch.abandon();
    await expect(store.batch()).rejects.toMatchObject({ code: "POISONED" });
    blobs.disk.plan = undefined;
    await putAll(store, [someBytes(20 * KIB, 1)]);
    expect(await store.get(sha256(someBytes(20 * KIB, 1)))).toEqual(someBytes(20 * KIB, 1));
  });

  test.each(["EMFILE", "EACCES", "EROFS", "EDQUOT", "EIO"])(
    "%s at any write leaves no half-done state, and the store works again after that",
    async (errno) => {
      const blobs = new SimBlobs();
      const store = await blobs.open({ largeBytes: 10 * KIB });
      const contents = [someBytes(2_000, 1), someBytes(20 * KIB, 2), someBytes(300, 3)];
      blobs.disk.plan = ({ name }) => (["open", "write", "rename"].includes(name) ? { errno } : "go");
      await expect(putAll(store, contents)).rejects.toMatchObject({ code: "IO", data: { errno } });
      blobs.disk.plan = undefined;
      expect(await store.has(contents.map((content) => sha256(content)))).toEqual(new Set());
      await putAll(store, contents);
      for (const content of contents) expect(await store.get(sha256(content))).toEqual(content);
      expect(await problemsOf(store)).toEqual([]);
    },
  );

  test("on a disk that takes no writes, contents are read and verified, and nothing is written", async () => {
    const blobs = new SimBlobs();
    const first = await blobs.open({ largeBytes: 10 * KIB });
    const contents = [someBytes(2_000, 1), someBytes(20 * KIB, 2, true), someBytes(300 * KIB, 3)];
    const hashes = await putAll(first, contents);
    await first.close();
    const changes: string[] = [];
    blobs.disk.plan = ({ name, path, reads }) => {
      if (reads || path.endsWith("/blobs")) return "go";
      changes.push(`${name} ${path}`);
      return { errno: "EROFS" };
    };
    const openIndex = () => ({ index: new MemoryBlobIndex(), fresh: true, readOnly: true });
    const store = await blobs.open({ openIndex });
    expect(store.readOnly).toBe(true);
    for (const [i, hash] of hashes.entries()) expect(await store.get(hash)).toEqual(contents[i]);
    expect(await problemsOf(store)).toEqual([]);
    expect(changes).toEqual([]);
    const readOnly = { code: "READ_ONLY", data: { errno: "EROFS" } };
    await expect(store.batch()).rejects.toMatchObject(readOnly);
    await expect(store.collect(() => true)).rejects.toMatchObject(readOnly);
    await store.close();
    expect(changes.filter((change) => !change.includes("/.probe-"))).toEqual([]);
  });

  test("a store that was opened on a full disk takes writes as soon as there is room", async () => {
    const blobs = new SimBlobs();
    const first = await blobs.open();
    await putAll(first, [someBytes(2_000, 1)]);
    await first.close();
    let isFull = true;
    blobs.disk.plan = ({ name }) => (isFull && name === "write" ? { errno: "ENOSPC" } : "go");
    const openIndex = () => ({ index: new MemoryBlobIndex(), fresh: true, readOnly: isFull });
    const store = await blobs.open({ openIndex });
    expect(store.readOnly).toBe(true);
    await expect(store.batch()).rejects.toMatchObject({ code: "IO", data: { errno: "ENOSPC" } });
    isFull = false;
    await putAll(store, [someBytes(2_000, 2)]);
    expect(store.readOnly).toBe(false);
    for (const n of [1, 2]) expect(await store.get(sha256(someBytes(2_000, n)))).toEqual(someBytes(2_000, n));
    expect(await problemsOf(store)).toEqual([]);
  });

  test("if the index cannot be updated on a full disk, reads work without its file, and it is updated once there is room", async () => {
    const blobs = new SimBlobs();
    const contents = [someBytes(2_000, 1), someBytes(300 * KIB, 2)];
    const first = await blobs.open();
    const hashes = await putAll(first, contents);
    await first.close();
    let isFull = true;
    class FullIndex extends MemoryBlobIndex {
      override apply(...args: Parameters<MemoryBlobIndex["apply"]>): void {
        if (isFull) throw new ChronicleError("IO", "database or disk is full", { data: { errno: "ENOSPC" } });
        super.apply(...args);
      }
    }
    blobs.disk.plan = ({ name }) => (isFull && name === "write" ? { errno: "ENOSPC" } : "go");
    const openIndex = () => ({ index: new FullIndex(), fresh: true, readOnly: false });
    const told: string[] = [];
    const scratch = { scratchIndex: () => new MemoryBlobIndex(), tell: (note: string) => void told.push(note) };
    await expect(blobs.open({ openIndex })).rejects.toMatchObject({ code: "IO" });
    const store = await blobs.open({ openIndex, ...scratch });
    for (const [i, hash] of hashes.entries()) expect(await store.get(hash)).toEqual(contents[i]);
    expect(await store.get(sha256(someBytes(9, 9)))).toBeUndefined();
    expect(await problemsOf(store)).toEqual([]);
    expect([store.readOnly, told]).toEqual([true, [expect.stringContaining("(ENOSPC)")]]);
    await expect(store.batch()).rejects.toMatchObject({ code: "IO", data: { errno: "ENOSPC" } });
    isFull = false;
    await putAll(store, [someBytes(2_000, 3)]);
    expect(store.readOnly).toBe(false);
    for (const hash of [...hashes, sha256(someBytes(2_000, 3))]) expect(await store.get(hash)).toBeDefined();
    expect(await problemsOf(store)).toEqual([]);
  });

  test("no descriptor stays open once the store is closed", async () => {
    const blobs = new SimBlobs();
    const store = await blobs.open();
    const hashes = await putAll(store, [someBytes(2_000, 1), someBytes(9 * MIB, 2)]);
    for await (const [, reader] of store.readMany(hashes)) await readAll(reader);
    const reader = await store.open(hashes[1] as Hash);
    for await (const _ of reader?.pieces() ?? []) break;
    await store.close();
    expect(blobs.disk.openDescriptors).toBe(0);
  });
});

describe("sinks", () => {
  test("a pack that has grown to 64 MiB is sealed under its ULID", async () => {
    const blobs = new SimBlobs();
    const store = await blobs.open();
    const noise = someBytes(8 * MIB, 1);
    const contents = Array.from({ length: 10 }, (_, i) => Buffer.concat([Buffer.from([i]), noise.subarray(1)]));
    const results: SinkResult[] = [];
    const lanes = await store.takeLanes(1);
    for (const lane of lanes) {
      const sink = openPackSink(blobs.disk, blobs.layout, { grant: lane.grant, newPackId: countingIds() });
      for (const content of contents) sink.put(content);
      results.push(structuredClone(sink.finish()));
    }
    expect(results[0]?.packs).toMatchObject([{ lane: undefined }, { lane: 0 }]);
    await store.publish(results);
    for (const lane of lanes) lane.release();
    const other = await blobs.open();
    for (const content of contents) expect((await other.get(sha256(content)))?.equals(content)).toBe(true);
    await store.close();
    await other.close();
    blobs.loseIndex();
    const again = await blobs.open();
    expect(await again.has(contents.map((content) => sha256(content)))).toHaveProperty("size", 10);
  });

  test("have a lane of their own each, and a content that all of them wrote is listed once", async () => {
    const blobs = new SimBlobs();
    const store = await blobs.open();
    await putAll(store, [Buffer.from("lane 0")]);
    const lanes = await store.takeLanes(3);
    expect(lanes.map(({ grant }) => grant.lane)).toEqual([1, 2, 3]);
    const shared = someBytes(5_000, 1);
    const results = lanes.map(({ grant }, i) => {
      const sink = openPackSink(blobs.disk, blobs.layout, { grant, newPackId: blobs.newPackId });
      sink.put(shared);
      expect(sink.put(shared, sha256(shared))).toBe(sha256(shared));
      expect(sink.has(sha256(shared))).toBe(true);
      sink.put(someBytes(1_000, 10 + i));
      return sink.finish();
    });
    expect(results.map(({ rows }) => rows.count)).toEqual([2, 2, 2]);
    expect(await store.has([sha256(shared)])).toEqual(new Set());
    await store.publish(results);
    for (const lane of lanes) lane.release();
    expect(await Array.fromAsync(store.list())).toHaveLength(5);
    expect(await store.get(sha256(shared))).toEqual(shared);
    expect(await problemsOf(store)).toEqual([]);
  });

  test("remove the bytes that they wrote if they are abandoned", async () => {
    const blobs = new SimBlobs();
    const store = await blobs.open();
    await putAll(store, [someBytes(3_000, 1)]);
    await store.close();
    const size = blobs.disk.lstat(blobs.layout.activePack(0))?.size;
    const again = await blobs.open();
    for (const lane of await again.takeLanes(1)) {
      const sink = openPackSink(blobs.disk, blobs.layout, { grant: lane.grant, newPackId: blobs.newPackId });
      for (let i = 0; i < 10; i++) sink.put(someBytes(100 * KIB, 20 + i));
      sink.putLarge([someBytes(9 * MIB, 3)]);
      sink.abandon();
      sink.abandon();
      lane.release();
    }
    expect(blobs.disk.lstat(blobs.layout.activePack(0))?.size).toBe(size);
    expect(blobs.disk.list(blobs.layout.largeTmp)).toEqual([]);
  });

  test("a known content is not written", async () => {
    const blobs = new SimBlobs();
    const store = await blobs.open();
    const content = someBytes(3_000, 1);
    await putAll(store, [content]);
    for (const { grant } of await store.takeLanes(1)) {
      const known = (hash: Hash): boolean => store.hasSync(hash);
      const sink = openPackSink(blobs.disk, blobs.layout, { grant, newPackId: blobs.newPackId, known });
      sink.put(content);
      expect(sink.finish().rows.count).toBe(0);
    }
  });

  test.each([true, false])(
    "a large content is stored from a file, by a clone if the disk can clone (clones: %s)",
    async (clones) => {
      const disk = new SimDisk({ clones });
      disk.makeFolder("/home");
      const content = someBytes(9 * MIB, 1);
      const source = disk.open("/source", "create");
      disk.write(source, content, 0);
      const blobs = new SimBlobs(disk);
      const store = await blobs.open();
      for (const { grant } of await store.takeLanes(1)) {
        const sink = openPackSink(disk, blobs.layout, { grant, newPackId: blobs.newPackId });
        let asked = false;
        const pieces = function* (): Generator<Uint8Array> {
          asked = true;
          yield content;
        };
        expect(sink.putLarge(pieces(), `/proc/self/fd/${source}`)).toEqual({
          hash: sha256(content),
          size: content.length,
        });
        expect(asked).toBe(!clones);
        await store.publish([sink.finish()]);
      }
      expect((await store.get(sha256(content)))?.equals(content)).toBe(true);
      expect(disk.lstat(blobs.layout.largeRaw(sha256(content)))?.mode).toBe(0o600);
      expect(await problemsOf(store)).toEqual([]);
    },
  );
});

describe("a row of the index that leads to another place in its pack", () => {
  const contents = [1, 2, 3].map((seed) => someBytes(3_000, seed));

  /** Returns the problems of a store in whose index the second content has another place. */
  async function problemsWith(change: (place: PackPlace, other: PackPlace) => Partial<PackPlace>) {
    const blobs = new SimBlobs();
    const store = await blobs.open();
    for (const content of contents) await putAll(store, [content]);
    const [other, place] = contents.map((content) => blobs.index.find(sha256(content))) as [PackPlace, PackPlace];
    const [pack] = blobs.index.packs();
    if (pack === undefined) throw new Error("there is no pack");
    const rows = new BlobRowsBuilder();
    const { kind: _kind, ...row } = { ...place, ...change(place, other), pack: 0 };
    rows.add(hashToBytes(sha256(contents[1] as Buffer)), row);
    blobs.index.apply({ packs: [pack], rows: rows.build(), replace: true });
    return problemsOf(store);
  }

  test.each<[string, Parameters<typeof problemsWith>[0]]>([
    ["another block", (_place, other) => ({ block: other.block })],
    ["the middle of a block", ({ block }) => ({ block: block + 8 })],
    ["the header of the pack", () => ({ block: 0 })],
    ["the end of the pack", ({ block }) => ({ block: block + 2 ** 30 })],
    ["a block of another size", ({ blockBytes }) => ({ blockBytes: blockBytes + 8 })],
    ["another offset in the block", ({ at }) => ({ at: at + 8 })],
    ["a content of another length", ({ length }) => ({ length: length + 8 })],
  ])("is found by verify: %s", async (_where, change) => {
    const hashes = [sha256(contents[1] as Buffer)];
    expect(await problemsWith(change)).toMatchObject([{ kind: "index-wrong", hashes }]);
  });

  test("is not found if nothing was changed", async () => {
    expect(await problemsWith(() => ({}))).toEqual([]);
  });
});
