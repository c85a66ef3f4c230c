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

it("finds contents whose size is not known", async () => {
  expect(hashesOf(await found(diskWith(), ["two!"], false))).toEqual([sha256("two!")]);
});

it("reads only files that have the size of a wanted content", async () => {
  const disk = diskWith();
  const read: number[] = [];
  const own = disk.read.bind(disk);
  disk.read = (fd, into, position) => {
    read.push(disk.fstat(fd).size);
    return own(fd, into, position);
  };
  await found(disk, ["two!", "five!"]);
  expect(new Set(read)).toEqual(new Set([4]));
});

it("skips files that cannot be read", async () => {
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
  expect(opened.filter((name) => name.endsWith("/three"))).toHaveLength(1);
});

it("takes the target of a link for its content, and does not follow the link", async () => {
  const disk = diskWith({ "/outside": "outside" });
  disk.symlink(Buffer.from("/outside"), "/good/link");
  expect(hashesOf(await found(disk, ["/outside", "outside"]))).toEqual([sha256("/outside")]);
});

it("finds a file of more than 16 MiB", async () => {
  const large = "0123456789abcdef".repeat(1_100_000);
  const all = await found(diskWith({ "/good/large": large }), [large]);
  expect(all.map(({ size, where }) => [size, where])).toEqual([[large.length, "/good/large"]]);
});
