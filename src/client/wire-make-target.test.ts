import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseGivenPath } from "../engine/log/known-paths.ts";
import { urlPath } from "./wire.ts";

/** Reads a URL as a server does: it resolves `.` and `..` first, then decodes each component once. */
function readFrom(path: string): string {
  const { pathname } = new URL(`http://x/v1/files/${path}`);
  expect(pathname.startsWith("/v1/files/")).toBe(true);
  return pathname.slice("/v1/files/".length).split("/").map(decodeURIComponent).join("/");
}

/** Returns the path as the engine parses it, or `refused` if the engine refuses it. */
function taken(given: string): string {
  try {
    return parseGivenPath(given);
  } catch {
    return "refused";
  }
}

describe("urlPath", () => {
  it.each([
    ["a/b.ts", "a/b.ts"],
    ["a b/ö?#%.ts", "a%20b/%C3%B6%3F%23%25.ts"],
    ["./a/", "a"],
    ["@lib:src/a", "%40lib%3Asrc/a"],
    [".", "base64%3A"],
    ["../a", "base64%3ALi4vYQ"],
    ["base64:/+8=", "base64%3A_-8%3D"],
    ["./base64:x", "base64%3AYmFzZTY0Ong"],
  ])("%j", (given, url) => expect(urlPath(given)).toBe(url));

  it("gives a URL that is read as the path that was given, whatever the path is", () => {
    const part = fc.oneof(
      fc.constantFrom("", ".", "..", "%2e%2e", "a", "history", "at", "base64:YQ==", "@lib:x", "a\\..\\b", " ", "%"),
      fc.string({ unit: "grapheme", maxLength: 6 }),
    );
    const path = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join("/"));
    fc.assert(
      fc.property(path, (given) => {
        expect(taken(readFrom(urlPath(given)))).toBe(taken(given));
      }),
      { numRuns: 2_000 },
    );
  });

  it("refuses text that has no bytes in UTF-8", () => {
    expect(() => urlPath("a\udc80")).toThrow(expect.objectContaining({ code: "PATH_INVALID" }));
  });
});
