import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Entry, EntryKind } from "../values/entry.ts";
import { EMPTY_HASH, type Hash, hashToBytes, sha256 } from "../values/hash.ts";
import {
  entryLeaf,
  folderHash,
  ManifestHasher,
  manifestRoot,
  type TreeChild,
  treeHash,
  workspaceRoot,
} from "./merkle.ts";
import { comparePaths, decodeName, ROOT, type WorkspacePath } from "../values/path.ts";

const sha = (...parts: Uint8Array[]): Buffer =>
  parts.reduce((h, part) => h.update(part), createHash("sha256")).digest();

/** Computes the tree hash exactly as RFC 6962 §2.1 defines it. */
function mth(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return sha();
  if (leaves.length === 1) return leaves[0] as Buffer;
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return sha(Buffer.from([1]), mth(leaves.slice(0, k)), mth(leaves.slice(k)));
}

function entry(path: string, kind: EntryKind = "file", mode?: number): Entry {
  const modes = { file: 0o644, dir: 0o755, symlink: 0o777 };
  const hash = kind === "dir" ? undefined : sha256(`content of ${path}`);
  return { path: path as WorkspacePath, kind, mode: mode ?? modes[kind], size: 1, mtimeMs: 0, hash };
}

const child = (name: string, kind: EntryKind, mode: number, hash: Hash): TreeChild => ({ name, kind, mode, hash });
const refused = expect.objectContaining({ code: "INTEGRITY_VIOLATION" });

describe("treeHash", () => {
  it("is the RFC 6962 tree hash at every size up to 64", () => {
    const leaves = Array.from({ length: 64 }, (_, i) => sha(Buffer.from([0, i])));
    for (let size = 0; size <= 64; size += 1)
      expect(treeHash(leaves.slice(0, size))).toEqual(mth(leaves.slice(0, size)));
  });

  it("does not double an odd node", () => {
    const [a, b, c] = [sha(Buffer.from("a")), sha(Buffer.from("b")), sha(Buffer.from("c"))] as const;
    expect(treeHash([a, b, c])).not.toEqual(treeHash([a, b, c, c]));
  });
});

describe("entryLeaf", () => {
  it("covers name, kind, mode and hash, byte by byte", () => {
    const hash = hashToBytes(sha256("hello"));
    const input = Buffer.concat([Buffer.from([0, 0x66, 0, 0, 0x01, 0xa4, 0, 0, 0, 5]), Buffer.from("é.go"), hash]);
    expect(entryLeaf("é.go", "file", 0o644, hash)).toEqual(sha(input));
  });

  it("writes the exact bytes of a name that is not UTF-8, and of a very long one", () => {
    const hash = hashToBytes(EMPTY_HASH);
    const fixed = (kind: number, length: number): Buffer =>
      Buffer.from([0, kind, 0, 0, 1, 0xff, 0, 0, length >> 8, length & 255]);
    const bytes = Buffer.from([0x66, 0xff, 0x6f]);
    expect(entryLeaf(decodeName(bytes), "symlink", 0o777, hash)).toEqual(sha(fixed(0x6c, 3), bytes, hash));
    const long = "n".repeat(5000);
    expect(entryLeaf(long, "dir", 0o777, hash)).toEqual(sha(fixed(0x64, 5000), Buffer.from(long), hash));
  });
});

describe("folderHash", () => {
  it("is the SHA-256 of no bytes for an empty folder", () => {
    expect(folderHash([])).toBe(EMPTY_HASH);
  });

  it("refuses names out of order or twice, and impossible modes", () => {
    const a = child("a", "file", 0o644, EMPTY_HASH);
    const b = child("b", "file", 0o644, EMPTY_HASH);
    expect(() => folderHash([b, a])).toThrow(refused);
    expect(() => folderHash([a, a])).toThrow(refused);
    expect(() => folderHash([child("a", "file", 0o10000, EMPTY_HASH)])).toThrow(refused);
    expect(() => folderHash([child("a", "symlink", 0o644, EMPTY_HASH)])).toThrow(refused);
  });
});

/** Computes the hash of a folder the slow way, from the list of all entries. */
function slowFolder(entries: readonly Entry[], folder: string): Hash {
  const prefix = folder === "" ? "" : `${folder}/`;
  const own = entries.filter(
    (one) => one.path.startsWith(prefix) && !one.path.slice(prefix.length).includes("/") && one.path !== "",
  );
  return folderHash(
    own.map((one) =>
      child(one.path.slice(prefix.length), one.kind, one.mode, one.hash ?? slowFolder(entries, one.path)),
    ),
  );
}

describe("manifestRoot", () => {
  const entries = ["a", "a/b", "a/b/c.txt", "a/d", "a.txt", "ab", "link", "z"].map((path) =>
    entry(path, path === "link" ? "symlink" : /(^|\/)(a|b|d)$/.test(path) ? "dir" : "file"),
  );

  it("gives the root and the hash of every folder", () => {
    const { root, folders } = manifestRoot(entries);
    expect([...folders.keys()].toSorted()).toEqual(["", "a", "a/b", "a/d"]);
    for (const [folder, hash] of folders) expect(hash).toBe(slowFolder(entries, folder));
    expect(root).toBe(folders.get(ROOT));
    expect(folders.get("a/d" as WorkspacePath)).toBe(EMPTY_HASH);
  });

  it("is the SHA-256 of no bytes for no entries", () => {
    expect(manifestRoot([])).toEqual({ root: EMPTY_HASH, folders: new Map([["", EMPTY_HASH]]) });
  });

  it("agrees with the slow way on generated trees", () => {
    const name = fc.constantFrom("a", "b", "a.b", "é", "\u{1f600}", "\ufb33", "a-b", "\udcff");
    const paths = fc.uniqueArray(
      fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/")),
      { maxLength: 25 },
    );
    fc.assert(
      fc.property(paths, (leaves) => {
        const folders = new Set(
          leaves.flatMap((path) => path.split("/").map((_, i, all) => all.slice(0, i).join("/"))),
        );
        folders.delete("");
        const all = new Set([...leaves, ...folders]);
        const tree = [...all].toSorted(comparePaths).map((path) => entry(path, folders.has(path) ? "dir" : "file"));
        expect(manifestRoot(tree).root).toBe(slowFolder(tree, ""));
      }),
      { numRuns: 200 },
    );
  });

  it("changes with every kind, mode, name and content, and not with size or time", () => {
    const { root } = manifestRoot(entries);
    const change = (i: number, by: Partial<Entry>): Hash =>
      manifestRoot(entries.with(i, { ...(entries[i] as Entry), ...by })).root;
    expect(change(2, { mode: 0o600 })).not.toBe(root);
    expect(change(2, { hash: EMPTY_HASH })).not.toBe(root);
    expect(change(2, { kind: "symlink", mode: 0o777 })).not.toBe(
      manifestRoot(entries.with(2, { ...(entries[2] as Entry), mode: 0o777 })).root,
    );
    expect(change(2, { path: "a/b/d.txt" as WorkspacePath })).not.toBe(root);
    expect(change(1, { mode: 0o700 })).not.toBe(root);
    expect(change(2, { size: 99, mtimeMs: 99 })).toBe(root);
  });

  it.each([
    ["a path without its folder", ["a/b"]],
    ["a path beneath a file", ["f", "f/x"]],
    ["names out of order", ["b", "a"]],
    ["a path twice", ["f", "f"]],
    ["a folder twice", ["d", "d"]],
    ["a folder that continues after another entry", ["d", "d/x", "e", "d/y"]],
    ["a root's own entry", [""]],
    ["a further root's own entry", ["\0lib"]],
    ["a further root after the first", ["a", "\0lib/x"]],
    ["further roots out of order", ["\0b/x", "\0a/x"]],
    ["a further root that continues after another one", ["\0a/x", "\0b/x", "\0a/y"]],
  ])("refuses %s", (_name, paths) => {
    expect(() => manifestRoot(paths.map((path) => entry(path, /(^|\/)d$/.test(path) ? "dir" : "file")))).toThrow(
      refused,
    );
  });

  it("refuses a file without a hash", () => {
    expect(() => manifestRoot([{ ...entry("a"), hash: undefined }])).toThrow(refused);
  });

  it("puts several roots into one virtual folder, the first with the empty name", () => {
    const { root, folders } = manifestRoot([entry("\0lib/x"), entry("\0web/d", "dir"), entry("\0web/d/y"), entry("a")]);
    expect([...folders.keys()].toSorted()).toEqual(["", "\0lib", "\0web", "\0web/d"]);
    const get = (path: string): Hash => folders.get(path as WorkspacePath) as Hash;
    expect(root).toBe(
      folderHash([
        child("", "dir", 0, get("")),
        child("lib", "dir", 0, get("\0lib")),
        child("web", "dir", 0, get("\0web")),
      ]),
    );
    expect(root).toBe(
      workspaceRoot(get(""), [
        { id: "web", hash: get("\0web") },
        { id: "lib", hash: get("\0lib") },
      ]),
    );
    expect(get("")).toBe(manifestRoot([entry("a")]).root);
  });

  it("covers a further root that is empty", () => {
    const alone = manifestRoot([entry("a")]);
    const withEmpty = manifestRoot([entry("a")], ["lib"]);
    expect(withEmpty.folders.get("\0lib" as WorkspacePath)).toBe(EMPTY_HASH);
    expect(withEmpty.root).toBe(workspaceRoot(alone.root, [{ id: "lib", hash: EMPTY_HASH }]));
    expect(withEmpty.root).not.toBe(alone.root);
  });

  it("reports a folder's hash after the hashes of all folders beneath it", () => {
    const order: string[] = [];
    const hasher = new ManifestHasher((path) => order.push(path));
    for (const one of entries) hasher.add(one);
    hasher.finish();
    expect(order).toEqual(["a/b", "a/d", "a", ""]);
  });
});
