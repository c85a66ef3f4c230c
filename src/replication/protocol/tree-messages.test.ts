import { describe, expect, it } from "vitest";
import { ChronicleError } from "../../core/values/errors.ts";
import { sha256 } from "../../core/values/hash.ts";
import { checkMessage } from "./messages.ts";
import { nameFromFields, nameToFields } from "./tree-messages.ts";

const HASH = sha256("content");

function listing(child: Readonly<Record<string, unknown>>): unknown {
  const whole = {
    kind: "file",
    permissions: 0o644,
    size: 1,
    mtime_ms: -5,
    hash: HASH,
    sequence: 2,
    iteration: 1,
    ...child,
  };
  const folders = [{ filepath: "a", hash: HASH, touched: false, children: [whole], more: false }];
  return { type: "TreeResponse", sequence: 4, folders };
}

function refusal(message: unknown): string | undefined {
  try {
    checkMessage(message);
    return undefined;
  } catch (error) {
    return error instanceof ChronicleError ? error.code : String(error);
  }
}

describe("names in listings", () => {
  it.each(["..", ".", "", "b/c", "/", "nul\0", "x".repeat(3_000)])("%j is refused", (name) => {
    expect(refusal(listing({ name }))).toMatch(/^(USAGE|PATH_INVALID)$/);
  });

  it("no name, two names, and Base64 of UTF-8 text or of a path out of the folder are refused", () => {
    const base64 = (text: string): string => Buffer.from(text).toString("base64");
    for (const fields of [
      {},
      { name: "a", name_b64: base64("b") },
      { name_b64: base64("a") },
      { name_b64: base64("..") },
      { name_b64: Buffer.from([0x61, 0x2f, 0xff]).toString("base64") },
    ]) {
      expect(refusal(listing(fields)), JSON.stringify(fields)).toMatch(/^(USAGE|PATH_INVALID)$/);
    }
  });

  it("every valid name is accepted, also one that means a path on Windows", () => {
    for (const name of ["a", "C:\\x", "\\\\server", "é", "a b"]) expect(refusal(listing({ name }))).toBeUndefined();
    expect(refusal(listing({ name_b64: Buffer.from([0x61, 0xff]).toString("base64") }))).toBeUndefined();
  });

  it("an absent child has no hash, and a present one has a hash", () => {
    expect(refusal(listing({ name: "a", kind: "absent" }))).toBe("USAGE");
    expect(refusal(listing({ name: "a", hash: null }))).toBe("USAGE");
    expect(refusal(listing({ name: "a", kind: "absent", hash: null }))).toBeUndefined();
  });

  it("are the same after encoding and decoding", () => {
    const names = ["a", "C:\\x", "é"];
    expect(names.map((name) => nameFromFields(nameToFields(name)))).toEqual(names);
  });
});
