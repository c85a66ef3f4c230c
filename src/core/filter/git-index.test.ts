import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { indexedName, parseGitIndex, placeInIndex, UnusableIndex } from "./git-index.ts";

/** Encodes an entry of version 2. */
function entry(name: string, mode = 0o100644, stage = 0): Buffer {
  const head = Buffer.alloc(62);
  head.writeUInt32BE(mode, 24);
  head.writeUInt16BE((stage << 12) | Math.min(name.length, 0xfff), 60);
  const length = Math.floor((62 + name.length + 8) / 8) * 8;
  return Buffer.concat([head, Buffer.from(name)], length);
}

/** Encodes an index without a checksum, as git writes it with `index.skipHash`. */
function index(entries: readonly Buffer[], extensions: readonly Buffer[] = [], version = 2): Buffer {
  const head = Buffer.alloc(12);
  head.write("DIRC", "latin1");
  head.writeUInt32BE(version, 4);
  head.writeUInt32BE(entries.length, 8);
  return Buffer.concat([head, ...entries, ...extensions, Buffer.alloc(20)]);
}

/** Returns the index with its checksum. */
function sealed(bytes: Buffer): Buffer {
  const body = bytes.subarray(0, -20);
  return Buffer.concat([body, createHash("sha1").update(body).digest()]);
}

function extension(name: string, size = 4): Buffer {
  const head = Buffer.alloc(8 + size);
  head.write(name, "latin1");
  head.writeUInt32BE(size, 4);
  return head;
}

function names(bytes: Buffer): string[] {
  const parsed = parseGitIndex(bytes, 20);
  return Array.from({ length: parsed.size }, (_, i) => indexedName(parsed, i).toString());
}

describe("a git index", () => {
  it("names each path once, whatever stages it has, and finds it", () => {
    const bytes = index([
      entry("a"),
      entry("b", 0o100644, 1),
      entry("b", 0o100644, 2),
      entry("b/c"),
      entry("lib", 0o160000),
    ]);
    expect(names(bytes)).toEqual(["a", "b", "b/c", "lib"]);
    const parsed = parseGitIndex(bytes, 20);
    expect([...parsed.isRepository]).toEqual([0, 0, 0, 1]);
    expect(["", "a", "aa", "b/", "lib", "z"].map((name) => placeInIndex(parsed, Buffer.from(name)))).toEqual([
      0, 0, 1, 2, 3, 4,
    ]);
  });

  it("may have names of 4,095 bytes and more, and optional extensions", () => {
    const long = ["x".repeat(4094), "x".repeat(4095), "x".repeat(5000)];
    expect(
      names(
        index(
          long.map((name) => entry(name)),
          [extension("TREE"), extension("REUC", 0)],
        ),
      ),
    ).toEqual(long);
  });

  it.each([
    ["split", index([], [extension("link")])],
    ["sparse", index([entry("a/", 0o040000)])],
    ["sparse", index([], [extension("sdir", 0)])],
    ["extension", index([], [extension("what")])],
    ["version 5", index([], [], 5)],
  ])("is refused with the reason: %s", (what, bytes) => {
    expect(() => parseGitIndex(bytes, 20)).toThrow(what);
  });

  it("is refused if it is cut off or out of order, and gives no additional entries if a bit is flipped", () => {
    const sound = index([entry("a/b"), entry("c"), entry("d")], [extension("TREE")]);
    const whole = sealed(sound);
    expect(names(whole)).toEqual(["a/b", "c", "d"]);
    for (let length = 0; length < whole.length; length += 1) {
      expect(() => names(whole.subarray(0, length)), String(length)).toThrow(UnusableIndex);
    }
    expect(() => names(index([entry("b"), entry("a")]))).toThrow(UnusableIndex);
    expect(() => names(index([entry("")]))).toThrow(UnusableIndex);
    for (let bit = 0; bit < (sound.length - 20) * 8; bit += 1) {
      const flipped = Buffer.from(sound);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      try {
        expect(names(flipped).length).toBeLessThanOrEqual(3);
      } catch (error) {
        expect(error).toBeInstanceOf(UnusableIndex);
      }
    }
  });

  it("is refused if it claims more entries, or a longer common prefix of two names, than it has", () => {
    const packed = (gone: number, text: string): Buffer => {
      const head = Buffer.alloc(62);
      head.writeUInt32BE(0o100644, 24);
      return Buffer.concat([head, Buffer.from([gone]), Buffer.from(text), Buffer.from([0])]);
    };
    const claims = index([], [], 4);
    claims.writeUInt32BE(0xffffffff, 8);
    expect(() => names(claims)).toThrow(UnusableIndex);
    expect(names(index([packed(0, "dir/a"), packed(1, "b"), packed(5, "e")], [], 4))).toEqual(["dir/a", "dir/b", "e"]);
    expect(() => names(index([packed(9, "a")], [], 4))).toThrow(UnusableIndex);
  });
});
