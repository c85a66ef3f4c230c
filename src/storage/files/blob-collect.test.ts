import { describe, expect, test } from "vitest";
import { sha256, type Hash } from "../../core/values/hash.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { SimBlobs } from "../../testing/blob-store-rig.ts";
import { problemsOf, putAll, someBytes } from "../../testing/blob-store-suite.ts";
import { openPackSink } from "./pack-sink.ts";

const KIB = 1024;
const many = Array.from({ length: 10 }, (_, i) => someBytes(10 * KIB, i));
const hashOf = (i: number): Hash => sha256(many[i] as Buffer);

/** Returns the total size of all packs. */
function packBytes({ disk, layout }: SimBlobs): number {
  const files = [layout.packs, layout.active].flatMap((folder) =>
    disk.list(folder).map(({ name }) => disk.lstat(`${folder}/${name.toString()}`)),
  );
  return files.reduce((sum, stat) => sum + (stat?.kind === "file" ? stat.size : 0), 0);
}

/** True if any pack contains this content byte for byte. The content must be incompressible. */
function liesAnywhere({ disk, layout }: SimBlobs, content: Buffer): boolean {
  return [layout.packs, layout.active].some((folder) =>
    disk.list(folder).some(({ name }) => disk.content(`${folder}/${name.toString()}`)?.includes(content) === true),
  );
}

describe("collecting packs", () => {
  test("a pack of mostly freed contents is rewritten, and a pack of mostly live contents is not", async () => {
    const blobs = new SimBlobs();
    const store = await blobs.open();
    await putAll(store, many);
    const full = packBytes(blobs);
    const kept = await store.collect((hash) => hash !== hashOf(0));
    expect(packBytes(blobs)).toBe(full);
    expect(kept).toMatchObject({ freedBlobs: 0, freedBytes: 0, pendingBlobs: 1 });
    expect(kept.pendingBytes).toBeGreaterThan(9 * KIB);
    expect(await store.get(hashOf(0))).toBeUndefined();
    const report = await store.collect((hash) => [2, 3].map(hashOf).includes(hash));
    expect(report.freedBlobs).toBe(7);
    expect(packBytes(blobs)).toBeLessThan(full * 0.3);
    expect(full - packBytes(blobs)).toBeGreaterThan(report.freedBytes * 0.9);
    expect(await store.get(hashOf(2))).toEqual(many[2]);
    expect(await problemsOf(store)).toEqual([]);
    await store.close();
    expect(blobs.disk.openDescriptors).toBe(0);
  });

  test("no byte of a freed large content remains, also if its file is damaged or empty", async () => {
    const blobs = new SimBlobs();
    const store = await blobs.open({ largeBytes: 64 * KIB });
    const content = Buffer.alloc(300 * KIB, "abc ");
    await putAll(store, [content]);
    const [packed, raw] = [blobs.layout.largePacked(sha256(content)), blobs.layout.largeRaw(sha256(content))];
    const fd = blobs.disk.open(packed, "update");
    blobs.disk.write(fd, Buffer.from("X"), 0);
    blobs.disk.sync(fd);
    blobs.disk.close(fd);
    expect(blobs.disk.lstat(packed)?.size).toBeGreaterThan(0);
    blobs.disk.close(blobs.disk.open(raw, "create", 0o600));
    await store.collect(() => false, { thorough: true });
    expect([blobs.disk.lstat(packed), blobs.disk.lstat(raw)]).toEqual([undefined, undefined]);
    expect(await problemsOf(store)).toEqual([]);
    await store.close();
  });

  test("thorough: no byte of a freed content remains, also of one that was freed before", async () => {
    const blobs = new SimBlobs();
    const store = await blobs.open();
    await putAll(store, many);
    await store.collect((hash) => hash !== hashOf(0));
    expect(liesAnywhere(blobs, many[0] as Buffer)).toBe(true);
    await store.collect(() => true, { thorough: true });
    expect(liesAnywhere(blobs, many[0] as Buffer)).toBe(false);
    const before = blobs.disk.operations;
    await store.collect(() => true, { thorough: true });
    expect(blobs.disk.operations - before).toBeLessThan(5);
    for (let i = 1; i < 10; i++) expect(await store.get(hashOf(i))).toEqual(many[i]);
    expect(await problemsOf(store)).toEqual([]);
  });

  test("thorough: live contents of one pack are not moved to a pack that is to be freed", async () => {
    const blobs = new SimBlobs();
    const store = await blobs.open();
    const secret = many[0] as Buffer;
    const lanes = await store.takeLanes(2);
    const inLanes = [many.slice(0, 6), many.slice(6)];
    for (const [i, { grant }] of lanes.entries()) {
      const sink = openPackSink(blobs.disk, blobs.layout, { grant, newPackId: blobs.newPackId });
      for (const content of inLanes[i] ?? []) sink.put(content);
      await store.publish([sink.finish()]);
    }
    for (const lane of lanes) lane.release();
    const dead = [0, 6, 7].map(hashOf);
    const report = await store.collect((hash) => !dead.includes(hash), { thorough: true });
    expect(report).toMatchObject({ freedBlobs: 3, pendingBlobs: 0 });
    expect(liesAnywhere(blobs, secret)).toBe(false);
    for (const i of [1, 2, 3, 4, 5, 8, 9]) expect(await store.get(hashOf(i))).toEqual(many[i]);
    expect(await problemsOf(store)).toEqual([]);
  });

  test("an idle lane of another process is left alone, and that process can keep writing", async () => {
    const blobs = new SimBlobs();
    const idle = await blobs.open();
    await putAll(idle, many.slice(0, 5));
    const store = await blobs.open();
    await putAll(store, many.slice(5));
    const report = await store.collect((hash) => hash === hashOf(4));
    expect([report.freedBlobs, report.pendingBlobs]).toEqual([5, 4]);
    expect(await idle.get(hashOf(4))).toEqual(many[4]);
    await putAll(idle, many.slice(0, 2));
    await putAll(store, many.slice(2, 4));
    for (const each of [idle, store]) expect(await each.get(hashOf(0))).toEqual(many[0]);
    expect(await problemsOf(store)).toEqual([]);
  });

  test("a reader that has the old pack open finds the new one", async () => {
    const blobs = new SimBlobs();
    const reader = await blobs.open();
    const store = await blobs.open();
    await putAll(store, many);
    expect(await reader.get(hashOf(1))).toEqual(many[1]);
    await store.collect((hash) => hash === hashOf(1));
    await store.collect((hash) => hash === hashOf(1));
    expect(await reader.get(hashOf(1))).toEqual(many[1]);
    expect(await reader.get(hashOf(2))).toBeUndefined();
  });

  test("on a full disk, packs without live contents are removed first, which makes room for the rest", async () => {
    const disk = new SimDisk({ capacityBytes: 210 * KIB });
    disk.makeFolder("/home");
    const blobs = new SimBlobs(disk);
    const [first, second] = [await blobs.open(), await blobs.open()];
    await putAll(first, many);
    const dead = await putAll(second, [someBytes(100 * KIB, 90)]);
    await first.close();
    await second.close();
    const store = await blobs.open();
    const kept = many.slice(0, 4).map((content) => sha256(content));
    await store.collect((hash) => kept.includes(hash));
    expect(packBytes(blobs)).toBeLessThan(60 * KIB);
    expect(await store.has([...kept, ...dead])).toEqual(new Set(kept));
    expect(await problemsOf(store)).toEqual([]);
  });

  test("leftovers of large contents that were never finished are removed", async () => {
    const blobs = new SimBlobs();
    const store = await blobs.open();
    blobs.disk.close(blobs.disk.open(`${blobs.layout.largeTmp}/left`, "create"));
    await store.collect(() => true);
    expect(blobs.disk.list(blobs.layout.largeTmp)).toEqual([]);
  });

  test("a live content that is damaged keeps its pack", async () => {
    const blobs = new SimBlobs();
    const store = await blobs.open();
    for (const content of many) await putAll(store, [content]);
    const fd = blobs.disk.open(blobs.layout.activePack(0), "update");
    blobs.disk.write(fd, Buffer.from("XXXX"), 200);
    blobs.disk.close(fd);
    const size = packBytes(blobs);
    await store.collect((hash) => hash === hashOf(0));
    expect(packBytes(blobs)).toBeGreaterThanOrEqual(size);
    await expect(store.get(hashOf(0))).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
  });
});
