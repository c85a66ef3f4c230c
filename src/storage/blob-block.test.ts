import { createHash } from "node:crypto";
import { constants, crc32, zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { sha256, type Hash } from "../core/values/hash.ts";
import { checkBlock, MAX_CONTAINER_CONTENT_BYTES, openBlock, splitBlocks, isOneFrame } from "./blob-block.ts";
import { encodeBlock } from "./block.ts";
import { encodeLargeHeader, encodePiece } from "./large-format.ts";
import { packBlocks } from "./pack-blocks.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const TEXT = Buffer.from("what a block holds, again and again\n".repeat(400));

const VIOLATION: unknown = expect.objectContaining({ code: "INTEGRITY_VIOLATION" });

function zstd(raw: Uint8Array, params: Record<number, number> = {}): Buffer {
  return zstdCompressSync(raw, { params });
}

/** Forges a block with arbitrary fields and correct checksums. */
function forged(
  stored: Uint8Array,
  says: { rawLength: number; hashes?: readonly Hash[]; lengths?: readonly number[] },
) {
  const { rawLength, hashes = [sha256(TEXT)], lengths = [rawLength] } = says;
  const { head } = encodeBlock({
    hashes: Buffer.concat(hashes.map((hash) => Buffer.from(hash, "hex"))),
    lengths,
    raw: Buffer.alloc(0),
  });
  head[4] = 1;
  head.writeUInt32BE(stored.length, 8);
  head.writeUInt32BE(rawLength, 12);
  head.writeUInt32BE(crc32(stored), 20);
  head.writeUInt32BE(crc32(head.subarray(20), crc32(head.subarray(0, 16))), 16);
  return Buffer.concat([head, stored]);
}

function container(content: Uint8Array, pieces: readonly Buffer[], hash = sha256(content)): Buffer {
  return Buffer.concat([encodeLargeHeader({ hash, length: content.length }), ...pieces]);
}

/** Splits and checks the bytes as a receiver does, and throws the same errors. */
function take(bytes: Uint8Array): void {
  for (const block of splitBlocks(bytes)) checkBlock(block);
}

describe("received blocks", () => {
  it("are split at their beginnings, and hold the contents that their tables name", () => {
    const contents = [TEXT, Buffer.alloc(0), Buffer.from([1, 2, 3]), Buffer.alloc(300 * KIB, 7)];
    const bytes = Buffer.concat([...packBlocks(contents)].map((block) => block.bytes));
    const blocks = splitBlocks(bytes);
    expect(blocks.map(({ entries }) => entries.length)).toEqual([3, 1]);
    for (const block of blocks) {
      checkBlock(block);
      const raw = openBlock(block);
      for (const { hash, at, length } of block.entries) expect(sha256(raw.subarray(at, at + length))).toBe(hash);
    }
    expect(splitBlocks(Buffer.alloc(0))).toEqual([]);
  });

  it("may be the container of a large content", () => {
    const content = Buffer.concat([Buffer.alloc(MIB, "ab"), Buffer.from("its end")]);
    const pieces = [encodePiece(MIB, zstd(content.subarray(0, MIB))), encodePiece(7, content.subarray(MIB))];
    const bytes = container(content, pieces);
    const [block] = splitBlocks(Buffer.concat([bytes, bytes]));
    if (block === undefined) throw new Error("there is none");
    expect(block).toMatchObject({ head: undefined, rawLength: content.length, entries: [{ hash: sha256(content) }] });
    checkBlock(block);
    expect(openBlock(block).equals(content)).toBe(true);
  });

  const whole = [...packBlocks([TEXT])][0]?.bytes ?? Buffer.alloc(0);

  it.each<[string, () => Uint8Array]>([
    ["no block", () => Buffer.from("CBLK, but not really one: it goes on like this")],
    ["half of a block", () => whole.subarray(0, whole.length - 1)],
    ["bytes after a block", () => Buffer.concat([whole, Buffer.from("x")])],
    [
      "a block with another content than its table names",
      () => forged(zstd(Buffer.from(TEXT).fill("x", 0, 1)), { rawLength: TEXT.length }),
    ],
    ["a frame that unpacks to more", () => forged(zstd(TEXT), { rawLength: TEXT.length - 1 })],
    ["a frame that unpacks to less", () => forged(zstd(TEXT), { rawLength: TEXT.length + 1 })],
    [
      "a frame of 8 MiB of zeros that is announced as 2,000 bytes",
      () => forged(zstd(Buffer.alloc(8 * MIB)), { rawLength: 2_000 }),
    ],
    [
      "a block with bytes after its frame",
      () => forged(Buffer.concat([zstd(TEXT), Buffer.from("hidden")]), { rawLength: TEXT.length }),
    ],
    ["a block with two frames", () => forged(Buffer.concat([zstd(TEXT), zstd(TEXT)]), { rawLength: TEXT.length })],
    ["a container of another content", () => container(TEXT, [encodePiece(TEXT.length, zstd(TEXT))], sha256("other"))],
    ["a container that ends too early", () => container(TEXT, [])],
    ["a container of 65 MiB", () => bomb(MAX_CONTAINER_CONTENT_BYTES + MIB)],
  ])("are refused: %s", (_, bytes) => {
    expect(() => take(bytes())).toThrow(VIOLATION);
  });
});

/**
 * Returns a sound container whose content is `length` zeros. The container takes about 50 bytes for each MiB of the
 * content.
 */
function bomb(length: number): Buffer {
  const zeros = Buffer.alloc(MIB);
  const piece = encodePiece(MIB, zstd(zeros));
  const digest = createHash("sha256");
  for (let at = 0; at < length; at += MIB) digest.update(zeros);
  const header = encodeLargeHeader({ hash: digest.digest("hex") as Hash, length });
  return Buffer.concat([header, ...Array<Buffer>(length / MIB).fill(piece)]);
}

describe("one zstd frame", () => {
  const C = constants;
  it.each<[string, Record<number, number>]>([
    ["with default parameters", {}],
    ["of the highest level", { [C.ZSTD_c_compressionLevel]: 19 }],
    ["with a check sum", { [C.ZSTD_c_checksumFlag]: 1 }],
    ["without its length", { [C.ZSTD_c_contentSizeFlag]: 0 }],
  ])("is recognised only if it is whole and alone: %s", (_, params) => {
    for (const raw of [Buffer.alloc(0), Buffer.from("a"), TEXT, Buffer.alloc(300 * KIB), Buffer.alloc(MIB, "xy")]) {
      const frame = zstd(raw, params);
      expect(isOneFrame(frame, raw.length)).toBe(true);
      expect(isOneFrame(frame.subarray(0, -1), raw.length)).toBe(false);
      expect(isOneFrame(Buffer.concat([frame, Buffer.of(0)]), raw.length)).toBe(false);
    }
  });

  it("is not recognised if it has another length, or needs a dictionary or too much memory", () => {
    const frame = zstd(TEXT);
    expect(isOneFrame(frame, TEXT.length + 1)).toBe(false);
    const withDictionary = Buffer.from(frame);
    withDictionary[4] = (withDictionary[4] ?? 0) | 3;
    expect(isOneFrame(withDictionary, TEXT.length)).toBe(false);
    // A frame with a window of 128 MiB, no stated length, and one raw block of one byte.
    const greedy = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x88, 0x09, 0, 0, 0x61]);
    expect(isOneFrame(greedy, 1)).toBe(false);
    greedy[5] = 0x68;
    expect(isOneFrame(greedy, 1)).toBe(true);
    expect(isOneFrame(Buffer.from([0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]), 0)).toBe(false);
  });
});
