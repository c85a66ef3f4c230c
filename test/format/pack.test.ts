import { readFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { parseHash, sha256 } from "../../src/core/values/hash.ts";
import {
  decodeBlockHead,
  decodePackHeader,
  encodeBlock,
  encodePackHeader,
  isStoredWhole,
  unpackBlock,
  type BlockInput,
} from "../../src/storage/block.ts";
import { decodeLargeHeader, decodePieceHead, encodeLargeHeader, encodePiece } from "../../src/storage/large-format.ts";

interface Vectors {
  readonly packHeader: { readonly ulid: string; readonly bytes: string };
  readonly rawBlock: { readonly contents: readonly string[]; readonly bytes: string };
  readonly zstdBlock: { readonly contents: readonly string[]; readonly bytes: string };
  readonly largeHeader: { readonly hash: string; readonly length: number; readonly bytes: string };
  readonly piece: { readonly raw: string; readonly bytes: string };
}

const vectors = JSON.parse(readFileSync(new URL("vectors/pack.json", import.meta.url), "utf8")) as Vectors;
const fromHex = (hex: string): Buffer => Buffer.from(hex, "hex");

function inputOf(contents: readonly Buffer[]): BlockInput {
  const hashes = Buffer.concat(contents.map((content) => fromHex(sha256(content))));
  return { hashes, lengths: contents.map(({ length }) => length), raw: Buffer.concat(contents) };
}

/** Returns the contents of a block, read by the rules of the format alone, and checks their hashes. */
function contentsOf(block: Buffer): Buffer[] {
  const head = decodeBlockHead(block);
  const raw = head && unpackBlock(head, block.subarray(head.headBytes));
  return (head?.entries ?? []).map(({ hash, at, length }) => {
    const content = raw?.subarray(at, at + length) ?? Buffer.alloc(0);
    expect(sha256(content)).toBe(hash);
    return content;
  });
}

describe("the bytes of a pack", () => {
  test("pack header", () => {
    const { ulid, bytes } = vectors.packHeader;
    expect(encodePackHeader(ulid).toString("hex")).toBe(bytes);
    expect(decodePackHeader(fromHex(bytes))).toBe(ulid);
  });

  test("a block of raw contents", () => {
    const contents = vectors.rawBlock.contents.map(fromHex);
    const { head, stored } = encodeBlock(inputOf(contents));
    expect(Buffer.concat([head, stored]).toString("hex")).toBe(vectors.rawBlock.bytes);
    expect(contentsOf(fromHex(vectors.rawBlock.bytes))).toEqual(contents);
  });

  test("a block of compressed contents", () => {
    const contents = vectors.zstdBlock.contents.map(fromHex);
    expect(contentsOf(fromHex(vectors.zstdBlock.bytes))).toEqual(contents);
    const { head, stored } = encodeBlock(inputOf(contents));
    expect(decodeBlockHead(head)?.codec).toBe("zstd");
    expect(contentsOf(Buffer.concat([head, stored]))).toEqual(contents);
  });

  test("the container of a large content", () => {
    const { hash, length, bytes } = vectors.largeHeader;
    expect(encodeLargeHeader({ hash: parseHash(hash), length }).toString("hex")).toBe(bytes);
    expect(decodeLargeHeader(fromHex(bytes))).toEqual({ hash, length });
    const raw = fromHex(vectors.piece.raw);
    expect(encodePiece(raw.length, raw).toString("hex")).toBe(vectors.piece.bytes);
    expect(decodePieceHead(fromHex(vectors.piece.bytes))).toEqual({
      stored: raw.length,
      raw: raw.length,
      crc: crc32(raw),
    });
  });

  test.each(["rawBlock", "zstdBlock"] as const)("%s: no flipped bit passes", (name) => {
    const good = fromHex(vectors[name].bytes);
    for (let bit = 0; bit < good.length * 8; bit++) {
      const bad = Buffer.from(good);
      bad[bit >> 3] = (bad[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const head = decodeBlockHead(bad);
      const raw = head && unpackBlock(head, bad.subarray(head.headBytes));
      const sound = head?.entries.every(
        ({ hash, at, length }) => raw && sha256(raw.subarray(at, at + length)) === hash,
      );
      // A changed bit is found even if it is in a part of a zstd frame that does not affect the contents.
      const whole = sound === true && head !== undefined && isStoredWhole(head, bad.subarray(head.headBytes));
      expect(whole, `bit ${bit}`).toBe(false);
      if (bit < 24 * 8) expect(head, `bit ${bit}`).toBeUndefined();
    }
  });

  test.each(["packHeader", "largeHeader"] as const)("%s: no flipped bit passes", (name) => {
    const good = fromHex(vectors[name].bytes);
    for (let bit = 0; bit < good.length * 8; bit++) {
      const bad = Buffer.from(good);
      bad[bit >> 3] = (bad[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(name === "packHeader" ? decodePackHeader(bad) : decodeLargeHeader(bad), `bit ${bit}`).toBeUndefined();
    }
  });

  test("a later version is refused, not misread", () => {
    const later = encodePackHeader(vectors.packHeader.ulid);
    expect(() => decodePackHeader(withVersion(later, 8, 36))).toThrow(/format version 2/);
    expect(() => decodeLargeHeader(withVersion(fromHex(vectors.largeHeader.bytes), 8, 52))).toThrow(/format version 2/);
  });
});

function withVersion(header: Buffer, at: number, crcAt: number): Buffer {
  header.writeUInt16BE(2, at);
  header.writeUInt32BE(crcOf(header.subarray(0, crcAt)), crcAt);
  return header;
}

/** Computes the CRC-32 of IEEE 802.3 bit by bit. */
function crcOf(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let i = 0; i < 8; i++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
