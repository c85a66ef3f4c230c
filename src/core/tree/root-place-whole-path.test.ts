import { describe, expect, it } from "vitest";
import { wholePath } from "./root-place.ts";

describe("a path that means one place", () => {
  it.each([
    ["/", "/"],
    ["/a/b", "/a/b"],
    ["/a//b/", "/a/b"],
    ["/a/./b/../c", "/a/c"],
    ["/a/~/b", "/a/~/b"],
  ])("%s is normalised to %s", (given, whole) => {
    expect(wholePath("home", given)).toBe(whole);
  });

  it.each([
    ["", "home is empty"],
    ["a/b", 'home is no absolute path: "a/b"'],
    ["~/a", 'home is no absolute path: "~/a"'],
  ])("%j is refused: %s", (given, message) => {
    expect(() => wholePath("home", given)).toThrow(
      expect.objectContaining({ code: "USAGE", message: expect.stringContaining(message) }),
    );
  });

  it("a missing value from a caller without types is reported as empty", () => {
    const nothing: Record<string, string> = {};
    expect(() => wholePath("home", nothing["home"] as string)).toThrow("home is empty");
  });

  it.each([[5], [null], [true], [{}], [["/a"]], [10n], [Symbol("a")], [Object.create(null)], [new URL("file:///a")]])(
    "a value that is no text, from a caller without types, is refused: %o",
    (given) => {
      expect(() => wholePath("home", given as string)).toThrow(
        expect.objectContaining({ code: "USAGE", message: expect.stringMatching(/^home is no absolute path/) }),
      );
    },
  );
});
