import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  comparePaths,
  decodeName,
  displayPath,
  isUtf8Path,
  foldersAbove,
  foldersWith,
  isRoot,
  isRootName,
  isWithin,
  nodeAbove,
  rootFolderOf,
  parentOf,
  parsePath,
  pathFromBytes,
  pathInRoot,
  pathToBytes,
  ROOT,
  splitRoot,
  type WorkspacePath,
} from "./path.ts";

describe("parsePath", () => {
  it.each([
    "/etc/x",
    "../x",
    "a/../../x",
    "a/./b",
    "a//b",
    "a/",
    "a\0b",
    ".",
    "..",
    "\ud800",
    "\0id/a",
    `a/${"x".repeat(70_000)}`,
  ])("refuses %j", (text) => {
    expect(() => parsePath(text)).toThrow(expect.objectContaining({ code: "PATH_INVALID" }));
  });

  it.each(["a", "a/b", "..a/b..", "a b", "--force", "\n", "C:\\x", "名/é", "__proto__"])(
    "takes %j as it is",
    (text) => {
      expect(parsePath(text)).toBe(text);
    },
  );
});

describe("bytes", () => {
  it("any name is the same after decoding and encoding, and no two names decode to the same text", () => {
    const name = fc
      .uint8Array({ minLength: 1, maxLength: 12 })
      .map((bytes) => bytes.map((b) => (b === 0 || b === 0x2f ? 0x61 : b)));
    fc.assert(
      fc.property(name, name, (a, b) => {
        expect([...pathToBytes(decodeName(a))]).toEqual([...a]);
        if (Buffer.compare(a, b) !== 0) expect(decodeName(a)).not.toBe(decodeName(b));
      }),
    );
  });

  it("a character of two surrogates keeps its bytes beside bytes that are not UTF-8", () => {
    // U+1F480 is D83D DC80, whose second half also stands for the byte 0x80.
    for (const text of ["\u{1F480}", "\u{10880}", "\u{1F4FF}"]) {
      for (const bytes of [
        [...Buffer.from(text), 0x80],
        [0x80, ...Buffer.from(text)],
        [0xff, ...Buffer.from(text), 0x61],
      ])
        expect([...pathToBytes(decodeName(Buffer.from(bytes)))]).toEqual(bytes);
    }
  });

  it("is well-formed exactly when the bytes are UTF-8", () => {
    expect(isUtf8Path(decodeName(Buffer.from("é")))).toBe(true);
    expect(isUtf8Path(decodeName(Buffer.from([0x61, 0xff])))).toBe(false);
    // A surrogate encoded as UTF-8 is not UTF-8.
    expect(isUtf8Path(decodeName(Buffer.from([0xed, 0xb3, 0x80])))).toBe(false);
  });

  it("refuses names that leave the folder", () => {
    expect(() => pathFromBytes(Buffer.from("a/../b"))).toThrow(expect.objectContaining({ code: "PATH_INVALID" }));
  });
});

describe("comparePaths", () => {
  it("orders by component, by bytes", () => {
    const order = (a: string, b: string): number => {
      const left = a.split("/").map((part) => pathToBytes(part));
      const right = b.split("/").map((part) => pathToBytes(part));
      for (let i = 0; i < Math.min(left.length, right.length); i += 1) {
        const one = Buffer.compare(left[i] ?? Buffer.alloc(0), right[i] ?? Buffer.alloc(0));
        if (one !== 0) return one;
      }
      return left.length - right.length;
    };
    const part = fc.string({
      unit: fc.constantFrom("a", "b", ".", "-", "\u{1F600}", "\ufb33", "\udcff", "é"),
      minLength: 1,
      maxLength: 3,
    });
    const path = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
    fc.assert(
      fc.property(path, path, (a, b) => {
        expect(Math.sign(comparePaths(a, b))).toBe(Math.sign(order(a, b)));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("further roots", () => {
  it("are put into a path and split off again", () => {
    const path = pathInRoot("lib", parsePath("a/b"));
    expect(splitRoot(path)).toEqual({ root: "lib", path: "a/b" });
    expect(splitRoot(parsePath("a"))).toEqual({ root: undefined, path: "a" });
    expect(splitRoot(pathInRoot("lib", parsePath("")))).toEqual({ root: "lib", path: "" });
    expect(displayPath(path)).toBe("@lib:a/b");
  });
});

describe("several roots", () => {
  const [first, two, inTwo] = ["a/b/c", "\0two", "\0two/a/b"] as WorkspacePath[] as [
    WorkspacePath,
    WorkspacePath,
    WorkspacePath,
  ];

  it("a further root is no child of the first one", () => {
    expect([ROOT, two].map(parentOf)).toEqual([ROOT, two]);
    expect(["a", "\0two/a"].map((path) => parentOf(path as WorkspacePath))).toEqual([ROOT, two]);
    expect([isWithin(inTwo, ROOT), isWithin(two, ROOT), isWithin(inTwo, two), isWithin(first, two)]).toEqual([
      false,
      false,
      true,
      false,
    ]);
    expect([first, inTwo, two, ROOT].map(rootFolderOf)).toEqual([ROOT, two, two, ROOT]);
    expect([ROOT, two, inTwo, first].map(isRoot)).toEqual([true, true, false, false]);
  });

  it("foldersAbove ends below the path's own root, and foldersWith ends at it", () => {
    expect([first, inTwo, two, ROOT].map((path) => [...foldersAbove(path)])).toEqual([
      ["a/b", "a"],
      ["\0two/a"],
      [],
      [],
    ]);
    expect([first, inTwo].map((path) => [...foldersWith(path)])).toEqual([
      ["a/b", "a", ROOT],
      ["\0two/a", two],
    ]);
  });

  it("nodeAbove puts further roots beneath the first one, as in the tree of an index", () => {
    expect([inTwo, two, ROOT].map(nodeAbove)).toEqual(["\0two/a", ROOT, undefined]);
    expect(["\0two", "two"].map(isRootName)).toEqual([true, false]);
  });
});

describe("isWithin", () => {
  it.each([
    ["a/b", "a", true],
    ["a", "a", true],
    ["ab", "a", false],
    ["a", "", true],
  ])("%s in %s: %s", (path, folder, expected) => {
    expect(isWithin(path as WorkspacePath, folder as WorkspacePath)).toBe(expected);
  });
});

describe("displayPath", () => {
  it("escapes characters that would disturb a terminal or deceive a reader", () => {
    expect(displayPath(parsePath("a\u001b[2Jb\nc\u202ed"))).toBe("a\\u{1b}[2Jb\\nc\\u{202e}d");
    expect(displayPath(pathFromBytes(Buffer.from([0x61, 0xff])))).toBe("a\\xff");
  });

  it("shows a name that begins like a path with a mark in the form in which it must be typed", () => {
    expect(displayPath(parsePath("@lib:a"))).toBe("./@lib:a");
    expect(displayPath(parsePath("base64:eA"))).toBe("./base64:eA");
    expect(displayPath(pathInRoot("lib", parsePath("base64:eA")))).toBe("@lib:./base64:eA");
    for (const path of ["@lib/a", "a/@lib:b", "@Lib:a"]) expect(displayPath(parsePath(path))).toBe(path);
    expect(displayPath(pathInRoot("lib", parsePath("@lib:a")))).toBe("@lib:@lib:a");
  });
});
