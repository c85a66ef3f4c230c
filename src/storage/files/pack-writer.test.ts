import { expect, it } from "vitest";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { hashToBytes, sha256 } from "../../core/values/hash.ts";
import { encodeBlock, type EncodedBlock } from "../block.ts";
import { storeLayout } from "../layout.ts";
import { PackWriter } from "./pack-writer.ts";

const ULID = "00000000000000000000000001";

const FOLDER = { folder: 0o700 };
const { blobs: layout } = storeLayout("/store");

function blockOf(text: string): EncodedBlock {
  const raw = Buffer.from(text);
  return encodeBlock({ hashes: hashToBytes(sha256(raw)), lengths: [raw.length], raw });
}

function begin(): { readonly disk: SimDisk; readonly writer: PackWriter } {
  const disk = SimDisk.fromTree({ [layout.packs]: FOLDER, [layout.active]: FOLDER });
  return { disk, writer: new PackWriter({ disk, layout, newPackId: () => ULID }, { lane: 0, pack: undefined }) };
}

it("blocks appended during a concurrent sync are durable only after the next sync, and only they can be taken back", async () => {
  const { disk, writer } = begin();
  const placed = (text: string) => {
    const block = blockOf(text);
    return { ...writer.append(block), bytes: block.head.length + block.stored.length };
  };
  const one = placed("one");
  const syncing = writer.syncBeside();
  const two = placed("two");
  writer.takeBack([two]);
  writer.takeBack([one]);
  const three = placed("three");
  await syncing;
  expect(three.offset).toBe(one.offset + one.bytes);
  expect(writer.stateOf(ULID).bytes).toBe(three.offset);
  for (let seed = 0; seed < 50; seed += 1) {
    const left = disk.crash({ seed }).content(layout.activePack(0));
    expect(left?.length).toBeGreaterThanOrEqual(three.offset);
  }
  expect(disk.crash("forget").content(layout.activePack(0))?.length).toBe(three.offset);
  await writer.syncBeside();
  expect(writer.stateOf(ULID).bytes).toBe(three.offset + three.bytes);
  expect(disk.crash("forget").content(layout.activePack(0))?.length).toBe(three.offset + three.bytes);
});

it("a full pack is sealed, even if blocks are only appended during concurrent syncs", async () => {
  const disk = SimDisk.fromTree({ [layout.packs]: FOLDER, [layout.active]: FOLDER });
  let ids = 0;
  const writer = new PackWriter(
    { disk, layout, newPackId: () => String((ids += 1)).padStart(26, "0") },
    { lane: 0, pack: undefined },
  );
  const stored = Buffer.alloc(16 * 1024 * 1024, 1);
  const { head } = blockOf("any");
  writer.append({ head, stored });
  for (let i = 0; i < 8; i += 1) {
    const syncing = writer.syncBeside();
    writer.append({ head, stored });
    await syncing;
  }
  await writer.syncBeside();
  const sealed = disk.list(layout.packs).filter(({ name }) => name.toString().endsWith(".pack"));
  expect(sealed).toHaveLength(2);
  expect(disk.content(layout.activePack(0))?.length).toBeLessThan(80 * 1024 * 1024);
  expect(disk.crash("forget").content(layout.activePack(0))?.length).toBe(disk.content(layout.activePack(0))?.length);
});

it("a failed concurrent sync poisons the writer, and blocks that were appended meanwhile are cut off", async () => {
  const { disk, writer } = begin();
  writer.append(blockOf("one"));
  writer.sync();
  const { bytes } = writer.stateOf(ULID);
  writer.append(blockOf("two"));
  disk.plan = ({ name }) => (name === "sync" ? { errno: "EIO" } : "go");
  const syncing = writer.syncBeside();
  writer.append(blockOf("three"));
  await expect(syncing).rejects.toMatchObject({ code: "IO" });
  disk.plan = undefined;
  expect([writer.poisoned, writer.stateOf(ULID).bytes]).toEqual([true, bytes]);
  expect(() => writer.append(blockOf("four"))).toThrow();
  expect(disk.content(layout.activePack(0))?.length).toBe(bytes);
});

it("bytes of a failed sync that cannot be cut off at once are cut off when the writer is closed", () => {
  const { disk, writer } = begin();
  writer.append(blockOf("one"));
  writer.sync();
  const { bytes } = writer.stateOf(ULID);
  writer.append(blockOf("two"));
  disk.plan = ({ name }) => (name === "sync" || name === "truncate" ? { errno: "EIO" } : "go");
  expect(() => writer.sync()).toThrow("EIO");
  expect(disk.content(layout.activePack(0))?.length).toBeGreaterThan(bytes);
  disk.plan = undefined;
  writer.close();
  expect(disk.content(layout.activePack(0))?.length).toBe(bytes);
});

it("bytes of a failed write do not come back in a sealed pack, whatever a crash keeps", () => {
  const { disk, writer } = begin();
  writer.append(blockOf("one"));
  writer.sync();
  const { bytes } = writer.stateOf(ULID);
  disk.plan = ({ name }) => (name === "write" ? { errno: "ENOSPC" } : "go");
  expect(() => writer.append(blockOf("two"))).toThrow("ENOSPC");
  disk.plan = undefined;
  writer.seal();
  for (let seed = 0; seed < 50; seed += 1) {
    expect(disk.crash({ seed }).content(layout.sealedPack(ULID))?.length).toBe(bytes);
  }
});
