import { describe, expect, test } from "vitest";
import { hashToBytes, sha256, type Hash } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import type { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { MemoryBlobIndex } from "../memory/memory-blob-index.ts";
import { readPackUlid } from "./pack-scan.ts";
import { findStored, flipAt, flipStored, SimBlobs } from "../../testing/blob-store-rig.ts";
import { problemsOf, putAll, someBytes } from "../../testing/blob-store-suite.ts";
import type { FileBlobStore } from "./file-blob-store.ts";
import { encodeBlock, PACK_HEADER_BYTES } from "../block.ts";
import { BlockFiller } from "./block-filler.ts";
import { settleLane } from "./pack-leases.ts";
import { openPackSink } from "./pack-sink.ts";
import { PackWriter } from "./pack-writer.ts";

const KIB = 1024;

async function filled(contents: readonly Buffer[]): Promise<{ blobs: SimBlobs; hashes: Hash[] }> {
  const blobs = new SimBlobs();
  const store = await blobs.open();
  const hashes: Hash[] = [];
  for (const content of contents) hashes.push(...(await putAll(store, [content])));
  await store.close();
  return { blobs, hashes };
}

async function found(store: FileBlobStore, contents: readonly Buffer[]): Promise<boolean[]> {
  const all = contents.map(async (content) => (await store.get(sha256(content)))?.equals(content) === true);
  return Promise.all(all);
}

function truncate(blobs: SimBlobs, path: string, length: number): void {
  const fd = blobs.disk.open(path, "update");
  blobs.disk.truncate(fd, length);
  blobs.disk.close(fd);
}

const three = [someBytes(3_000, 1), someBytes(4_000, 2, true), someBytes(5_000, 3)];
const sealed = (blobs: SimBlobs): string[] => blobs.disk.list(blobs.layout.packs).map(({ name }) => name.toString());

describe("a reader that may not write, beside a writer", () => {
  const readOnly = () => ({ index: new MemoryBlobIndex(), fresh: true, readOnly: true });
  const given = [someBytes(3_000, 1), someBytes(4_000, 2)];

  /** Returns a proxy of the disk that calls `before` before each call of a method. */
  function watched(disk: SimDisk, before: () => void): Disk {
    return new Proxy<Disk>(disk, {
      get: (_disk, name) => {
        const member: unknown = Reflect.get(disk, name, disk);
        if (typeof member !== "function") return member;
        return (...given: unknown[]): unknown => {
          before();
          return Reflect.apply(member, disk, given);
        };
      },
    });
  }

  /** Opens a store of one pack in lane 0, and calls `meanwhile` before the nth call of the reader to the disk. */
  async function openBeside(
    nth: number,
    meanwhile: (blobs: SimBlobs) => void,
  ): Promise<{ readonly store: FileBlobStore; readonly happened: boolean }> {
    const { blobs } = await filled(given);
    let calls = 0;
    const disk = watched(blobs.disk, () => {
      calls += 1;
      if (calls === nth) meanwhile(blobs);
    });
    const store = await blobs.open({ disk, openIndex: readOnly });
    return { store, happened: calls >= nth };
  }

  function seal({ disk, layout }: SimBlobs): string {
    const from = layout.activePack(0);
    const fd = disk.open(from, "read");
    const ulid = readPackUlid(disk, fd) ?? "";
    disk.close(fd);
    disk.rename(from, layout.sealedPack(ulid));
    return layout.sealedPack(ulid);
  }

  function beginPack({ disk, layout, newPackId }: SimBlobs, contents: readonly Buffer[]): void {
    const sink = openPackSink(disk, layout, { grant: { lane: 0, pack: undefined }, newPackId });
    for (const content of contents) sink.put(content);
    sink.finish();
  }

  test.each([
    ["seals its pack", (blobs: SimBlobs) => void seal(blobs)],
    [
      "seals its pack and begins another",
      (blobs: SimBlobs) => {
        seal(blobs);
        beginPack(blobs, [someBytes(2_000, 3)]);
      },
    ],
    [
      "collects the pack",
      (blobs: SimBlobs) => {
        const sealedPath = seal(blobs);
        beginPack(blobs, given);
        blobs.disk.unlink(sealedPath);
      },
    ],
  ])("that %s: the reader finds the contents that were stored before", async (_what, meanwhile) => {
    const wrong: string[] = [];
    for (let nth = 1, happened = true; happened; nth += 1) {
      try {
        const opened = await openBeside(nth, meanwhile);
        happened = opened.happened;
        if ((await found(opened.store, given)).includes(false)) wrong.push(`${nth}: not found`);
        await opened.store.close();
      } catch (error) {
        wrong.push(`${nth}: ${String(error)}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

describe("a reader that may not write, and stays", () => {
  test("finds what a writer stores later, small and large", async () => {
    const { blobs } = await filled(three.slice(0, 1));
    const largeBytes = 10 * KIB;
    const openIndex = () => ({ index: new MemoryBlobIndex(), fresh: true, readOnly: true });
    const reader = await blobs.open({ openIndex, largeBytes });
    const large = someBytes(20 * KIB, 9);
    expect(await found(reader, [...three, large])).toEqual([true, false, false, false]);
    const writer = await blobs.open({ largeBytes });
    await putAll(writer, [large]);
    expect(await found(reader, [...three, large])).toEqual([true, false, false, true]);
    await putAll(writer, three.slice(1));
    expect(await found(reader, [...three, large])).toEqual([true, true, true, true]);
  });
});

describe("a lost index", () => {
  test("changes no answer", async () => {
    const { blobs, hashes } = await filled([...three, someBytes(9_000 * KIB, 4)]);
    blobs.loseIndex();
    const store = await blobs.open();
    expect(await store.has(hashes)).toEqual(new Set(hashes));
    expect(await found(store, three)).toEqual([true, true, true]);
    expect((await Array.fromAsync(store.list())).map(({ hash }) => hash).toSorted()).toEqual(hashes.toSorted());
    expect(await problemsOf(store)).toEqual([]);
  });

  test("damage in the middle of a lane loses only the damaged content, and later contents are not cut off", async () => {
    const { blobs } = await filled(three);
    flipStored(blobs.disk, blobs.layout, sha256(three[1] as Buffer));
    blobs.loseIndex();
    const store = await blobs.open();
    expect(sealed(blobs)).toHaveLength(2);
    await expect(store.get(sha256(three[1] as Buffer))).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
    expect(await found(store, [three[0] as Buffer, three[2] as Buffer])).toEqual([true, true]);
    expect(await problemsOf(store)).toMatchObject([{ kind: "blob-corrupt", hashes: [sha256(three[1] as Buffer)] }]);
    await putAll(store, [Buffer.from("goes on")]);
  });

  test("a damaged block head is skipped over", async () => {
    const { blobs } = await filled(three);
    const path = blobs.layout.activePack(0);
    flipAt(blobs.disk, path, (findStored(blobs.disk, path, sha256(three[1] as Buffer))?.block ?? 0) + 30);
    blobs.loseIndex();
    const store = await blobs.open();
    expect(await found(store, three)).toEqual([true, false, true]);
    expect(await problemsOf(store)).toMatchObject([{ kind: "pack-damaged" }]);
  });

  test("a damaged header of a pack loses nothing", async () => {
    const { blobs } = await filled(three);
    flipAt(blobs.disk, blobs.layout.activePack(0), 12);
    blobs.loseIndex();
    const store = await blobs.open();
    expect(await found(store, three)).toEqual([true, true, true]);
    expect(await problemsOf(store)).toMatchObject([{ kind: "pack-damaged", hashes: [] }]);
  });
});

describe("a pack whose header did not reach the disk before the power went", () => {
  function zeroHeader(blobs: SimBlobs): void {
    const fd = blobs.disk.open(blobs.layout.activePack(0), "update");
    blobs.disk.write(fd, Buffer.alloc(PACK_HEADER_BYTES), 0);
    blobs.disk.close(fd);
  }

  test("gets a new header, and its whole blocks are kept", async () => {
    const { blobs } = await filled(three);
    blobs.loseIndex();
    zeroHeader(blobs);
    const store = await blobs.open();
    expect(await found(store, three)).toEqual([true, true, true]);
    expect(await problemsOf(store)).toEqual([]);
    const more = someBytes(6_000, 5);
    await putAll(store, [more]);
    await store.close();
    const again = await blobs.restarted().open();
    expect(await found(again, [...three, more])).toEqual([true, true, true, true]);
    expect(await problemsOf(again)).toEqual([]);
  });

  test("does not take the place of a sealed pack whose new name the index does not know", async () => {
    const { blobs } = await filled(three);
    const [row] = blobs.index.packs();
    const { disk, layout } = blobs;
    const grant = { lane: 0, pack: { ulid: row?.ulid ?? "", bytes: row?.bytes ?? 0 } };
    const writer = new PackWriter({ disk, layout, newPackId: blobs.newPackId }, grant);
    writer.seal();
    const raw = someBytes(7_000, 6);
    writer.append(encodeBlock({ hashes: hashToBytes(sha256(raw)), lengths: [raw.length], raw }));
    writer.close();
    zeroHeader(blobs);
    settleLane({ disk, layout, index: blobs.index, newPackId: blobs.newPackId, unsure: new Set() }, 0, new Map());
    blobs.loseIndex();
    expect(await found(await blobs.open(), [...three, raw])).toEqual([true, true, true, true]);
  });
});

describe("an unpublished tail", () => {
  /** Stores the contents, each in a block of its own, like a process that is killed before it publishes. */
  async function killedBeforePublish(blobs: SimBlobs, contents: readonly Buffer[]): Promise<SimBlobs> {
    const store = await blobs.open();
    for (const lane of await store.takeLanes(1)) {
      const sink = openPackSink(blobs.disk, blobs.layout, { grant: lane.grant, newPackId: blobs.newPackId });
      for (const content of contents) sink.put(content);
      sink.finish();
      lane.release();
    }
    await store.close();
    return blobs;
  }
  const big = [someBytes(300 * KIB, 11), someBytes(300 * KIB, 12), someBytes(300 * KIB, 13)];

  test("that is whole is kept", async () => {
    const { blobs } = await filled(three);
    const store = await (await killedBeforePublish(blobs, big)).open();
    expect(await found(store, [...three, ...big])).toEqual([true, true, true, true, true, true]);
  });

  test("is cut at its first bad block, and appended to from there", async () => {
    const { blobs } = await filled(three);
    await killedBeforePublish(blobs, big);
    const path = blobs.layout.activePack(0);
    const bad = findStored(blobs.disk, path, sha256(big[1] as Buffer));
    flipAt(blobs.disk, path, (bad?.stored ?? 0) + 5);
    const store = await blobs.open();
    expect(blobs.disk.lstat(path)?.size).toBe(bad?.block);
    expect(await found(store, [...three, ...big])).toEqual([true, true, true, true, false, false]);
    await putAll(store, big);
    expect(await found(store, big)).toEqual([true, true, true]);
    expect(await problemsOf(store)).toEqual([]);
  });

  test("of a lane that is held is left to its holder", async () => {
    const { blobs } = await filled(three);
    const writer = await blobs.open();
    const batch = await writer.batch();
    for (const content of big) await batch.put(content);
    const size = blobs.disk.lstat(blobs.layout.activePack(0))?.size;
    const other = await blobs.open();
    expect(await other.get(sha256(big[0] as Buffer))).toBeUndefined();
    expect(blobs.disk.lstat(blobs.layout.activePack(0))?.size).toBe(size);
    expect(await problemsOf(other)).toEqual([]);
    await batch.commit();
    expect(await found(other, big)).toEqual([true, true, true]);
  });
});

describe("a pack that its writer seals while another process looks", () => {
  const tail = someBytes(2_000, 21);
  const later = someBytes(2_500, 22);

  /** Lets another process examine lane 0. The writer seals the lane once that process has looked `looks` times. */
  async function sealedMeanwhile(looks: number, goOn: "sealed" | "next pack"): Promise<void> {
    const { blobs, hashes } = await filled(three);
    const { disk, layout, newPackId } = blobs;
    const [reader, writing] = [await blobs.open(), await blobs.open()];
    const held = await writing.lease();
    const [lane] = await writing.takeLanes(1);
    const ulid = lane?.grant.pack?.ulid ?? "";
    const writer = new PackWriter({ disk, layout, newPackId }, lane?.grant ?? { lane: 0, pack: undefined });
    const filler = new BlockFiller(writer);
    const write = (content: Buffer): void => {
      filler.add(sha256(content), content);
      filler.flush();
      writer.sync();
    };
    write(tail);
    const seal = (): void => {
      writer.seal();
      if (goOn === "sealed") return;
      write(later);
      blobs.index.apply(filler.result());
    };
    const lstat = disk.lstat.bind(disk);
    let seen = 0;
    disk.lstat = (path) => {
      const stat = lstat(path);
      const isOfPack = path === layout.activePack(0) || path === layout.sealedPack(ulid);
      if (isOfPack && (seen += 1) === looks) seal();
      return stat;
    };
    expect(await reader.get(sha256("nowhere"))).toBeUndefined();
    disk.lstat = lstat;
    if (seen < looks) seal();
    if (goOn === "sealed") write(later);
    await writing.publish([{ ...filler.result(), large: [] }]);
    writer.close();
    lane?.release();
    held.release();
    const all = [...three, tail, later];
    expect(await found(await blobs.open(), all)).toEqual(all.map(() => true));
    await writing.collect(() => true, { thorough: true });
    expect(await reader.has(hashes)).toEqual(new Set(hashes));
    expect(await found(reader, all)).toEqual(all.map(() => true));
  }

  test("is not reported as missing by verify, and neither is the next pack in its lane", async () => {
    const { blobs } = await filled(three);
    const { disk, layout, newPackId } = blobs;
    const [reader, writing] = [await blobs.open(), await blobs.open()];
    const [lane] = await writing.takeLanes(1);
    const writer = new PackWriter({ disk, layout, newPackId }, lane?.grant ?? { lane: 0, pack: undefined });
    const filler = new BlockFiller(writer);
    const problems = reader.verify({
      onBlob: () => {
        if (blobs.index.packs().length > 1) return;
        writer.seal();
        filler.add(sha256(later), later);
        filler.flush();
        writer.sync();
        blobs.index.apply(filler.result());
      },
    });
    expect(await Array.fromAsync(problems)).toEqual([]);
    writer.close();
    lane?.release();
  });

  const looks = [1, 2, 3, 4, 5, 6];
  test.each(looks)("is not lost if it is sealed after %i looks", (count) => sealedMeanwhile(count, "sealed"));
  test.each(looks)("is not lost if another pack is begun in its lane after %i looks", (count) =>
    sealedMeanwhile(count, "next pack"),
  );
});

describe("files that do not fit the index", () => {
  test("a pack that is shorter than published is reported, and its lost content is absent after the next opening", async () => {
    const { blobs, hashes } = await filled(three);
    const store = await blobs.open();
    const path = blobs.layout.activePack(0);
    truncate(blobs, path, (blobs.disk.lstat(path)?.size ?? 0) - 10);
    expect(await problemsOf(store)).toContainEqual(
      expect.objectContaining({ kind: "pack-damaged", hashes: [hashes[2]] }),
    );
    await store.close();
    const again = await blobs.open();
    expect(await again.has(hashes)).toEqual(new Set(hashes.slice(0, 2)));
    await putAll(again, [three[2] as Buffer]);
    expect(await found(again, three)).toEqual([true, true, true]);
  });

  test("the contents of a missing pack are absent, and can be put again", async () => {
    const { blobs, hashes } = await filled(three);
    blobs.disk.unlink(blobs.layout.activePack(0));
    const store = await blobs.open();
    expect(await store.has(hashes)).toEqual(new Set());
    await putAll(store, three);
    expect(await found(store, three)).toEqual([true, true, true]);
    expect(await problemsOf(store)).toEqual([]);
  });

  test("a missing large file is reported by verify, and its content is absent", async () => {
    const large = someBytes(9_000 * KIB, 1);
    const { blobs, hashes } = await filled([large]);
    const [hash] = hashes as [Hash];
    const store = await blobs.open();
    blobs.disk.unlink(blobs.layout.largeRaw(hash));
    expect(await problemsOf(store)).toMatchObject([{ kind: "index-wrong", hashes: [hash] }]);
    expect(await store.get(hash)).toBeUndefined();
    expect(await store.has([hash])).toEqual(new Set());
  });

  test("a pack that was sealed without an update of the index is found, and its row is corrected", async () => {
    const { blobs, hashes } = await filled(three);
    const running = await blobs.open();
    const ulid = blobs.index.packs()[0]?.ulid ?? "";
    blobs.disk.rename(blobs.layout.activePack(0), blobs.layout.sealedPack(ulid));
    expect(await found(running, three)).toEqual([true, true, true]);
    const store = await blobs.open();
    expect(blobs.index.packs()).toMatchObject([{ ulid, lane: undefined }]);
    expect(await store.has(hashes)).toEqual(new Set(hashes));
    await putAll(store, [Buffer.from("new pack")]);
    expect(await problemsOf(store)).toEqual([]);
  });

  test("a row of the index that points nowhere is reported by verify", async () => {
    const { blobs } = await filled(three);
    const store = await blobs.open();
    const lie = sha256("never stored");
    const rows = {
      count: 1,
      hashes: new Uint8Array(Buffer.from(lie, "hex")),
      fields: new Uint32Array([0, 40, 3076, 0, 12, 12]),
    };
    blobs.index.apply({ packs: blobs.index.packs(), rows });
    expect(await problemsOf(store)).toMatchObject([{ kind: "index-wrong", hashes: [lie] }]);
    await expect(store.get(lie)).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
  });
});

describe("mending", () => {
  test.each([
    ["a small", someBytes(3_000, 5)],
    ["a large", someBytes(9_000 * KIB, 6)],
  ])("%s content that was found damaged is whole again once it is put again", async (_, content) => {
    const { blobs, hashes } = await filled([content, three[0] as Buffer]);
    const [hash] = hashes as [Hash, Hash];
    flipStored(blobs.disk, blobs.layout, hash);
    const store = await blobs.open();
    await expect(store.get(hash)).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
    expect(await store.has([hash])).toEqual(new Set());
    await putAll(store, [content]);
    expect(await found(store, [content])).toEqual([true]);
    expect((await problemsOf(store)).flatMap((problem) => problem.hashes)).toEqual([]);
    await store.collect(() => true, { thorough: true });
    expect(await problemsOf(store)).toEqual([]);
    expect(await found(store, [content, three[0] as Buffer])).toEqual([true, true]);
  });

  test.each([
    ["a small", someBytes(3_000, 5)],
    ["a large", someBytes(9_000 * KIB, 6)],
  ])("%s content that another store put again after damage is sound for this store, too", async (_, content) => {
    const { blobs, hashes } = await filled([content]);
    const [hash] = hashes as [Hash];
    flipStored(blobs.disk, blobs.layout, hash);
    const [running, other] = [await blobs.open(), await blobs.open()];
    expect(await running.sound([hash])).toEqual(new Set());
    await expect(running.get(hash)).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
    expect(await running.has([hash])).toEqual(new Set());
    other.doubt();
    await putAll(other, [content]);
    expect(await running.has([hash])).toEqual(new Set(hashes));
    expect((await running.placesOf([hash])).places).toMatchObject([{ length: content.length }]);
    expect(await running.sound([hash])).toEqual(new Set(hashes));
    expect(await found(running, [content])).toEqual([true]);
    // Damage the new bytes as well.
    for (const path of [blobs.layout.activePack(0), blobs.layout.largeRaw(hash)]) {
      const size = blobs.disk.lstat(path)?.size;
      if (size !== undefined) flipAt(blobs.disk, path, Math.floor(size * 0.75));
    }
    running.doubt();
    expect(await running.sound([hash])).toEqual(new Set());
    expect(await running.has([hash])).toEqual(new Set());
  });
});
