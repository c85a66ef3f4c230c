import { afterEach, expect, test } from "vitest";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../core/filter/filter.ts";
import { sha256, type Hash } from "../core/values/hash.ts";
import type { WorkspacePath } from "../core/values/path.ts";
import type { FileStat } from "../disk/disk.ts";
import { SimDisk } from "../testing/sim-disk/sim-disk.ts";
import { FileBlobStore } from "../storage/files/file-blob-store.ts";
import { FileIntake } from "../storage/files/file-backends.ts";
import { storeLayout } from "../storage/layout.ts";
import { MemoryBlobIndex } from "../storage/memory/memory-blob-index.ts";
import { MemoryLock } from "../storage/memory/memory-lock.ts";
import type { IngestResult } from "../engine/log/context.ts";
import { FileIngest } from "./file-ingest.ts";

const MiB = 1024 * 1024;

const opened: FileBlobStore[] = [];
afterEach(async () => {
  for (const blobs of opened.splice(0)) await blobs.close();
});

/** Reads files of a folder into a store. Returns the results, and the files of the store that it opened. */
async function begin(files: Readonly<Record<string, Buffer>>) {
  const planted = Object.entries(files).map(([name, content]) => [`/w/${name}`, content] as const);
  const disk = SimDisk.fromTree({ "/store": { folder: 0o700 }, ...Object.fromEntries(planted) });
  const lanes = new Set<string>();
  disk.plan = ({ name, path }) => {
    if (name === "write" && path.includes("/active/")) lanes.add(path);
    return "go";
  };
  const layout = storeLayout("/store");
  let id = 0;
  const newPackId = (): string => `01${String((id += 1)).padStart(24, "0")}`;
  const blobs = await FileBlobStore.open({
    disk,
    layout: layout.blobs,
    openIndex: () => ({ index: new MemoryBlobIndex(), fresh: true, readOnly: false }),
    lock: () => new MemoryLock(),
    newPackId,
  });
  opened.push(blobs);
  const roots = [{ id: undefined, folder: "/w", filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS }];
  const intake = new FileIntake({ disk, layout, blobs, newPackId });
  const ingest = new FileIngest({ disk, intake, roots, threads: false });
  /** The byte counts that were reported as read, in order. */
  const told: number[] = [];
  const readAll = async (names: readonly string[]): Promise<IngestResult[]> => {
    lanes.clear();
    const results: IngestResult[] = [];
    const run = ingest.begin({ hashOnly: false, onResult: (result) => results.push(result) });
    await run.add(
      names.map((name) => {
        const stat = disk.lstat(`/w/${name}`);
        if (stat === undefined) throw new Error(`there is no ${name}`);
        return { path: name as WorkspacePath, stat };
      }),
    );
    await run.finish((bytes) => told.push(bytes));
    return results;
  };
  const read = async (names: readonly string[]): Promise<(Hash | undefined)[]> =>
    (await readAll(names)).map((result) => ("entry" in result ? result.entry.hash : undefined));
  return { disk, blobs, ingest, read, readAll, lanes, told };
}

function random(length: number, seed: number): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, i) => (i * 2_654_435_761 + seed * 40_503 + (i >>> 8)) >>> 13));
}

test("a content that is stored already is only read, and no lane is written", async () => {
  const files = { a: random(10_000, 1), b: random(300, 2), c: random(10_000, 1) };
  const { blobs, read, lanes } = await begin(files);
  const hashes = [files.a, files.b, files.c].map((content) => sha256(content));
  expect(await read(["a", "b", "c"])).toEqual(hashes);
  expect(lanes.size).toBe(1);
  for (const [i, hash] of hashes.entries()) expect(await blobs.get(hash)).toEqual([files.a, files.b, files.c][i]);
  expect(await read(["a", "b", "c"])).toEqual(hashes);
  expect(lanes.size).toBe(0);
});

test("the bytes of files that are named like a database's companions are reported after the others'", async () => {
  const files = { a: random(10_000, 1), "x-wal": random(300, 2), b: random(500, 3) };
  const { read, told } = await begin(files);
  expect(await read(["a", "x-wal", "b"])).toEqual([files.a, files.b, files["x-wal"]].map((content) => sha256(content)));
  expect(told).toEqual([10_500, 10_800]);
});

test("large and small files are stored, also if they are more than is held at once", async () => {
  const files = { a: random(MiB - 5, 1), b: random(9 * MiB, 2), c: random(3 * MiB, 3), d: random(7, 4) };
  const { blobs, read } = await begin(files);
  expect(await read(["d", "a"])).toEqual([sha256(files.d), sha256(files.a)]);
  expect(await read(["b", "c", "d"])).toEqual([sha256(files.b), sha256(files.c), sha256(files.d)]);
  for (const content of Object.values(files)) expect((await blobs.get(sha256(content)))?.equals(content)).toBe(true);
});

test.each([3 * MiB, 9 * MiB])(
  "a file that has grown to %i bytes since its stat was read is stored whole",
  async (size) => {
    const grown = random(size, 1);
    const { disk, blobs, read } = await begin({ a: Buffer.from("small") });
    // The stat passed on is that of the small file.
    const lstat = disk.lstat.bind(disk);
    const small = lstat("/w/a");
    disk.lstat = (path) => (path === "/w/a" ? small : lstat(path));
    const fd = disk.open("/w/a", "update", 0o600);
    disk.write(fd, grown, 0);
    disk.close(fd);
    expect(await read(["a"])).toEqual([sha256(grown)]);
    expect((await blobs.get(sha256(grown)))?.equals(grown)).toBe(true);
  },
);

test("a file that grows while it is read is recorded with the size of the content that was kept", async () => {
  const { disk, blobs, readAll } = await begin({ busy: Buffer.alloc(1000, "x") });
  // After each stat of the open file, two bytes are appended to the file. The reader reads only one byte beyond the
  // size that it has seen.
  const look = disk.fstat.bind(disk);
  disk.fstat = (fd) => {
    const stat = look(fd);
    const writer = disk.open("/w/busy", "update", 0o644);
    disk.write(writer, Buffer.from("yy"), look(writer).size);
    disk.close(writer);
    return stat;
  };
  const [result] = await readAll(["busy"]);
  expect(result).toMatchObject({ unstable: true });
  const entry = result !== undefined && "entry" in result ? result.entry : undefined;
  expect(entry?.size).toBe((await blobs.get(entry?.hash ?? sha256(Buffer.alloc(0))))?.length);
});

test("a database that was modified just before it was read is read as a unit, however long the capture then takes", async () => {
  const [before, later] = [1, 2].map((fill) =>
    Buffer.concat([Buffer.from("SQLite format 3\0"), Buffer.alloc(4_080, fill)]),
  );
  const { disk, blobs, ingest } = await begin({ "a.db": before as Buffer, z: random(100, 1) });
  const now = BigInt(Date.now()) * 1_000_000n;
  const fd = disk.open("/w/a.db", "update");
  disk.setMtime(fd, now);
  const results: IngestResult[] = [];
  const run = ingest.begin({
    hashOnly: false,
    onResult: (result) => {
      results.push(result);
      if (result.path !== "z") return;
      // The file's times do not show this write, as can happen with a coarse clock.
      disk.write(fd, later as Buffer, 0);
      disk.setMtime(fd, now);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_100);
    },
  });
  for (const name of ["a.db", "z"])
    await run.add([{ path: name as WorkspacePath, stat: disk.lstat(`/w/${name}`) as FileStat }]);
  await run.finish();
  const [read] = results.filter(({ path }) => path === "a.db");
  expect(read).toMatchObject({ entry: { hash: sha256(later as Buffer) } });
  expect(await blobs.get(sha256(later as Buffer))).toEqual(later);
});

test("a database whose name is that of another one's companion is recorded", async () => {
  const database = Buffer.concat([Buffer.from("SQLite format 3\0", "latin1"), Buffer.alloc(496)]);
  const { read } = await begin({ "x-wal": database, "y-journal": database });
  expect(await read(["x-wal", "y-journal"])).toEqual([sha256(database), sha256(database)]);
});
