import { expect, it } from "vitest";
import { sha256, type Hash } from "../../core/values/hash.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { findInFolder, type FoundFile } from "./find-in-folder.ts";

function diskWith(more: Parameters<typeof SimDisk.fromTree>[0] = {}): SimDisk {
  return SimDisk.fromTree({ "/good/a/b/one": "one", "/good/two": "two!", "/good/a/empty": { folder: 0o755 }, ...more });
}

async function found(disk: SimDisk, texts: readonly string[], isSizeKnown = true): Promise<FoundFile[]> {
  const wanted = new Map(texts.map((text) => [sha256(text), isSizeKnown ? text.length : undefined] as const));
  const all: FoundFile[] = [];
  for await (const one of findInFolder(disk, "/good", wanted)) {
    wanted.delete(one.hash);
    all.push(one);
  }
  return all;
}

const hashesOf = (all: readonly FoundFile[]): Hash[] => all.map(({ hash }) => hash);

it("finds files at any depth, by their content", async () => {
  const all = await found(diskWith(), ["one", "two!", "nowhere"]);
  expect(hashesOf(all).toSorted()).toEqual([sha256("one"), sha256("two!")].toSorted());
  expect(all.find(({ hash }) => hash === sha256("one"))?.where).toBe("/good/a/b/one");
});

it("finds those whose size is not known", async () => {
  expect(hashesOf(await found(diskWith(), ["two!"], false))).toEqual([sha256("two!")]);
});

it("does not open a file of another size, and passes over what cannot be read", async () => {
  const disk = diskWith({ "/good/a/three": "three" });
  const opened: string[] = [];
  const open = disk.open.bind(disk);
  disk.open = (path, how, mode) => {
    const name = String(path);
    if (how === "read") opened.push(name);
    if (name.endsWith("/three")) throw Object.assign(new Error("EACCES"), { code: "EACCES" });
    return open(path, how, mode);
  };
  expect(hashesOf(await found(disk, ["two!", "three"]))).toEqual([sha256("two!")]);
});

it("offers the target of a link, and does not follow it", async () => {
  const disk = diskWith({ "/outside": "outside" });
  disk.symlink(Buffer.from("/outside"), "/good/link");
  expect(hashesOf(await found(disk, ["/outside", "outside"]))).toEqual([sha256("/outside")]);
});

it("finds a file that is so large that others have their turn while it is read", async () => {
  const large = "0123456789abcdef".repeat(1_100_000);
  const all = await found(diskWith({ "/good/large": large }), [large]);
  expect(all.map(({ size, where }) => [size, where])).toEqual([[large.length, "/good/large"]]);
});
