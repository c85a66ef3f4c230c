import { describe, expect, it } from "vitest";
import type { Change, Entry } from "../../core/values/entry.ts";
import { DEFAULT_FILTER } from "../../core/filter/filter.ts";
import { sha256 } from "../../core/values/hash.ts";
import { parsePath } from "../../core/values/path.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { DiskWorktree } from "../disk/disk-worktree.ts";

/** A worktree on a simulated disk, in whose folder `d` one file is written again and again. */
class Written {
  readonly disk = SimDisk.fromTree({
    "/store": { folder: 0o700 },
    "/base": { folder: 0o755 },
    "/base/d": { folder: 0o755 },
  });
  readonly worktree = new DiskWorktree({
    disk: this.disk,
    roots: [
      {
        id: undefined,
        folder: "/base",
        filter: DEFAULT_FILTER,
        limits: { maxEntries: 0, maxBytes: 0, maxFileSize: 0 },
      },
    ],
    cacheFile: "/store/stat.cache",
    staging: "/store/staging",
    storeFolders: ["/store"],
    clock: () => 1_800_000_000_000,
  });
  /** The number of staging places that were made in `d`. */
  places = 0;
  /** The number of times that the program was asked. */
  asked = 0;
  /** False if new files in `d` get other attributes than in the staging folder. */
  isPlain = true;
  /** False if the machine has no such program. */
  hasProgram = true;
  #last: Entry | undefined;

  constructor() {
    const makeFolder = this.disk.makeFolder.bind(this.disk);
    this.disk.makeFolder = (path, mode) => {
      makeFolder(path, mode);
      if (path.toString().includes(".chronicle-tmp-")) this.places += 1;
    };
    this.disk.makesAlike = async (folders) => {
      this.asked += 1;
      if (!this.hasProgram) return undefined;
      return new Set(this.isPlain ? folders : []);
    };
  }

  /** Removes the file. */
  async remove(): Promise<void> {
    const path = parsePath("d/f");
    const contents = async function* () {};
    const changes: Change[] = [{ path, before: this.#last, after: undefined }];
    const report = await this.worktree.apply({ token: "TR", changes, contents, onBlocked: "fail" });
    if (report.applied.length !== 1) throw new Error("the file was not removed");
    this.#last = undefined;
  }

  /** Writes the file. Resolves to the numbers of places and questions so far. */
  async write(text: string): Promise<{ readonly places: number; readonly asked: number }> {
    const bytes = Buffer.from(text);
    const hash = sha256(bytes);
    const path = parsePath("d/f");
    const after: Entry = { path, kind: "file", mode: 0o644, size: bytes.length, mtimeMs: 0, hash };
    const changes: Change[] = [{ path, before: this.#last, after }];
    const pieces = async function* () {
      yield bytes;
    };
    const contents = async function* () {
      yield [hash, { size: bytes.length, pieces }] as const;
    };
    const report = await this.worktree.apply({ token: `T${text}`, changes, contents, onBlocked: "fail" });
    if (report.applied.length !== 1 || this.#text() !== text) throw new Error(`${text} was not written`);
    this.#last = after;
    return { places: this.places, asked: this.asked };
  }

  #text(): string {
    const fd = this.disk.open("/base/d/f", "read");
    const into = Buffer.alloc(100);
    const length = this.disk.read(fd, into, 0);
    this.disk.close(fd);
    return into.toString("utf8", 0, length);
  }
}

describe("the place of new files of a few changes", () => {
  it("is in the folder for the first apply, and in the staging folder once the program has called the folder plain", async () => {
    const written = new Written();
    expect(await written.write("1")).toEqual({ places: 1, asked: 0 });
    for (const text of ["2", "3", "4", "5", "6"]) expect(await written.write(text)).toEqual({ places: 1, asked: 1 });
  });

  it("is in the folder again after somebody else has changed the folder, until the program was asked again", async () => {
    const written = new Written();
    for (const text of ["1", "2", "3"]) await written.write(text);
    const fd = written.disk.open("/base/d", "folder");
    written.disk.chmod(fd, 0o775);
    written.disk.close(fd);
    written.isPlain = false;
    expect(await written.write("4")).toEqual({ places: 2, asked: 1 });
    expect(await written.write("5")).toEqual({ places: 3, asked: 2 });
    expect(await written.write("6")).toEqual({ places: 4, asked: 2 });
  });

  it("stays in a folder that is not plain, and the program is not asked at each apply", async () => {
    const written = new Written();
    written.isPlain = false;
    for (let i = 1; i <= 40; i += 1) expect(await written.write(String(i))).toMatchObject({ places: i });
    expect(written.asked).toBe(1);
  });

  it("is in the folder if there is no program, which is asked for three times at most", async () => {
    const written = new Written();
    written.hasProgram = false;
    for (let i = 1; i <= 40; i += 1) expect(await written.write(String(i))).toMatchObject({ places: i });
    expect(written.asked).toBe(3);
  });

  it("is in the folder after an apply without new files that found the folder changed by somebody else", async () => {
    const written = new Written();
    for (const text of ["1", "2", "3"]) await written.write(text);
    const fd = written.disk.open("/base/d", "folder");
    written.disk.chmod(fd, 0o2775);
    written.disk.close(fd);
    written.isPlain = false;
    await written.remove();
    expect(await written.write("4")).toMatchObject({ places: 2 });
  });

  it("is in the folder if the store's own staging folder was changed, until the program was asked again", async () => {
    const written = new Written();
    for (const text of ["1", "2", "3"]) await written.write(text);
    const fd = written.disk.open("/store/staging", "folder");
    written.disk.chmod(fd, 0o2700);
    written.disk.close(fd);
    written.isPlain = false;
    for (const text of ["4", "5", "6"]) await written.write(text);
    expect([written.places, written.asked]).toEqual([4, 2]);
  });

  it("is asked for again after 256 applies, because a change during an apply can go unnoticed", async () => {
    const written = new Written();
    for (let i = 1; i <= 257; i += 1) await written.write(String(i));
    expect([written.places, written.asked]).toEqual([1, 1]);
    written.isPlain = false;
    for (let i = 258; i <= 262; i += 1) await written.write(String(i));
    expect(written.places).toBeGreaterThan(1);
    expect(written.asked).toBe(2);
  });

  it("is in the staging folder for nearly all of a thousand applies", async () => {
    const written = new Written();
    for (let i = 1; i <= 1_000; i += 1) await written.write(String(i));
    expect([written.places, written.asked]).toEqual([1, 4]);
  });

  it("is in the folder if a file cannot be renamed into it from the staging folder", async () => {
    const written = new Written();
    const rename = written.disk.rename.bind(written.disk);
    written.disk.rename = (from, to) => {
      if (from.toString().includes(".chronicle-not-there")) throw Object.assign(new Error("mounts"), { code: "EXDEV" });
      rename(from, to);
    };
    for (let i = 1; i <= 4; i += 1) expect(await written.write(String(i))).toMatchObject({ places: i });
  });
});
