import { describe, expect, it } from "vitest";
import type { MarkShape } from "../api/store-api.ts";
import { sha256 } from "../core/values/hash.ts";
import { SimDisk } from "../testing/sim-disk/sim-disk.ts";
import { FileMarks } from "./file-marks.ts";

const FOLDER = "/store/workspaces/w/marks";

function newDisk(): SimDisk {
  return SimDisk.fromTree({ "/store/workspaces/w": { folder: 0o700 } });
}

const marksOf = (disk: SimDisk, person = "owner"): FileMarks => new FileMarks(disk, FOLDER, person);

function mark(path: string, content = "x"): MarkShape {
  return { path, before_hash: "", after_hash: sha256(content) };
}

function names(disk: SimDisk): string[] {
  return disk.list(FOLDER).map(({ name }) => name.toString());
}

/** Replaces the only file of marks. */
function damage(disk: SimDisk, content: string): void {
  const path = `${FOLDER}/${names(disk)[0] ?? ""}`;
  const fd = disk.open(path, "update");
  disk.truncate(fd, 0);
  disk.write(fd, Buffer.from(content), 0);
  disk.close(fd);
}

describe("the marks of a person", () => {
  it("are there again for whoever reads them next, oldest first, and a mark that is made again is the newest", () => {
    const disk = newDisk();
    expect(marksOf(disk).read()).toEqual({ marks: [] });
    const executable = { ...mark("c.sh"), after_permissions: 0o755 };
    marksOf(disk).change({ add: [mark("a.txt"), mark("ü \n.txt"), executable] });
    expect(marksOf(disk).read()).toEqual({ marks: [mark("a.txt"), mark("ü \n.txt"), executable] });
    marksOf(disk).change({ add: [mark("a.txt")], remove: [mark("ü \n.txt"), mark("c.sh")] });
    expect(marksOf(disk).read()).toEqual({ marks: [executable, mark("a.txt")] });
  });

  it("are apart from those of others, and their files say nobody's name", () => {
    const disk = newDisk();
    marksOf(disk, "alice").change({ add: [mark("a.txt")] });
    marksOf(disk, "../bob").change({ add: [mark("b.txt")] });
    expect(marksOf(disk, "alice").read().marks).toEqual([mark("a.txt")]);
    expect(marksOf(disk, "../bob").read().marks).toEqual([mark("b.txt")]);
    expect(names(disk).every((name) => /^[0-9a-f]{64}\.json$/.test(name))).toBe(true);
  });

  it("outlive a crash after they were made, whole", () => {
    const disk = newDisk();
    marksOf(disk).change({ add: [mark("a.txt")] });
    marksOf(disk).change({ add: [mark("b.txt")] });
    expect(marksOf(disk.crash("forget")).read().marks).toEqual([mark("a.txt"), mark("b.txt")]);
  });

  it.each([
    ["bytes that are no JSON", "{"],
    ["nothing", ""],
    ["another format", '{"format":2,"marks":[]}'],
    ["a hash that is none", '{"format":1,"marks":[["a.txt","","../x"]]}'],
    ["a path that is none", '{"format":1,"marks":[[7,"",""]]}'],
    ["a list", "[]"],
  ])("are lost with a file of %s, which the next mark replaces", (_what, content) => {
    const disk = newDisk();
    marksOf(disk).change({ add: [mark("a.txt")] });
    damage(disk, content);
    expect(marksOf(disk).read()).toEqual({ marks: [], problem: expect.stringContaining("cannot be read") });
    marksOf(disk).change({ add: [mark("b.txt")] });
    expect(marksOf(disk).read()).toEqual({ marks: [mark("b.txt")] });
  });

  it("are at most 5,000 and 1 MiB, the newest", () => {
    const disk = newDisk();
    const many = Array.from({ length: 5_000 }, (_, i) => mark(`${i}.txt`));
    marksOf(disk).change({ add: many });
    marksOf(disk).change({ add: [mark("last.txt")] });
    expect(marksOf(disk).read().marks).toEqual([...many.slice(1), mark("last.txt")]);
    const long = Array.from({ length: 40 }, (_, i) => mark(`${i}/${"long/".repeat(10_000)}`));
    marksOf(disk).change({ add: long });
    const { marks } = marksOf(disk).read();
    expect(marks.length).toBeLessThan(40);
    expect(marks).toEqual(long.slice(-marks.length));
    const [name = ""] = names(disk);
    expect(disk.lstat(`${FOLDER}/${name}`)?.size).toBeLessThanOrEqual(1024 * 1024);
  });

  it("give way to those of others, after 256 people, where nothing was marked for longest", () => {
    const disk = newDisk();
    for (let i = 0; i < 256; i += 1) marksOf(disk, `person ${i}`).change({ add: [mark("a.txt")] });
    marksOf(disk, "person 0").change({ add: [mark("b.txt")] });
    marksOf(disk, "one more").change({ add: [mark("a.txt")] });
    expect(names(disk)).toHaveLength(256);
    expect(marksOf(disk, "person 0").read().marks).toHaveLength(2);
    expect(marksOf(disk, "person 1").read().marks).toHaveLength(0);
  });
});
