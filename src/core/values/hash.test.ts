import { describe, expect, it } from "vitest";
import { EMPTY_HASH, hashFromBytes, hashToBytes, isHash, parseHash, sha256 } from "./hash.ts";

describe("hashes", () => {
  it("are the SHA-256 of known inputs", () => {
    expect(EMPTY_HASH).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect(sha256("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(sha256(Buffer.from("abc"))).toBe(sha256("abc"));
  });

  it("are the same after a conversion to bytes and back", () => {
    expect(hashFromBytes(hashToBytes(EMPTY_HASH))).toBe(EMPTY_HASH);
  });

  it.each([
    "",
    "e3",
    `${EMPTY_HASH}0`,
    EMPTY_HASH.toUpperCase(),
    EMPTY_HASH.replace("e", "g"),
    EMPTY_HASH.replace("e", "/"),
    EMPTY_HASH.replace("e", ":"),
    EMPTY_HASH.replace("e", "`"),
    ` ${EMPTY_HASH.slice(1)}`,
  ])("%j is no hash", (text) => {
    expect(isHash(text)).toBe(false);
    expect(() => parseHash(text)).toThrow(expect.objectContaining({ code: "INTEGRITY_VIOLATION" }));
  });
});
