import { expect, it } from "vitest";
import { SimDisk } from "../../disk/sim-disk.ts";
import { hashToBytes, sha256 } from "../../core/hash.ts";
import { encodeBlock } from "../block.ts";
import { storeLayout } from "./layout.ts";
import { PackWriter } from "./pack-writer.ts";

const ULID = "00000000000000000000000001";

it("what a failed write has left does not come back into a sealed pack, whatever a crash keeps", () => {
  const { blobs: layout } = storeLayout("/store");
  const folder = { folder: 0o700 };
  const disk = SimDisk.fromTree({ [layout.packs]: folder, [layout.active]: folder });
  const writer = new PackWriter(disk, layout, { lane: 0, pack: undefined }, () => ULID);
  const blockOf = (text: string) => {
    const raw = Buffer.from(text);
    return encodeBlock({ hashes: hashToBytes(sha256(raw)), lengths: [raw.length], raw });
  };
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
