import { expect, it } from "vitest";
import { encodeTombstone, type Tombstone } from "../core/records/tombstone.ts";
import { SimDisk } from "../testing/sim-disk/sim-disk.ts";
import { Tombstones } from "./tombstones.ts";

const ID = "11111111-1111-4111-8111-111111111111";

function stoneOf(store: string): Tombstone {
  const times = { forgotten: "2030-01-01T00:00:00.000Z", until: "2030-01-02T00:00:00.000Z" };
  return { id: ID, path: "/w", store, ...times, head: null, by: { pid: 1, ancestors: [], actor: "human" } };
}

function notesOf(disk: SimDisk, home: string): Tombstones {
  return new Tombstones({ backends: { disk }, configFolder: "/config", layout: { home } });
}

function names(disk: SimDisk): string[] {
  return disk
    .list("/config/forgotten")
    .map(({ name }) => name.toString())
    .sort();
}

/** The first path that a note can have. */
const FIRST = `/config/forgotten/${ID}.json`;
function textAt(disk: SimDisk, path: string): string {
  const fd = disk.open(path, "read");
  const bytes = Buffer.alloc(disk.fstat(fd).size);
  disk.read(fd, bytes, 0);
  disk.close(fd);
  return bytes.toString();
}

it.each([
  ["another store's note", encodeTombstone(stoneOf("/other"))],
  ["a note that cannot be understood", '{"id":'],
])("%s stays, and this store's note is beside it", (_what, content) => {
  const disk = SimDisk.fromTree({ "/config": { folder: 0o700 }, "/home": { folder: 0o700 }, [FIRST]: content });
  disk.makeFolder("/other");
  disk.makeFolder("/other/forgotten");
  disk.makeFolder(`/other/forgotten/${ID}`);
  const notes = notesOf(disk, "/home");
  notes.put(stoneOf("/home"));
  expect(textAt(disk, FIRST)).toBe(content);
  expect(notes.get(ID)).toMatchObject({ store: "/home" });
  expect(names(disk)).toHaveLength(2);
  notes.put({ ...stoneOf("/home"), path: "/later" });
  expect([notes.get(ID)?.path, names(disk).length]).toEqual(["/later", 2]);
});

it("a note is written even if another store's or a damaged note has its names", () => {
  const disk = SimDisk.fromTree({ "/config": { folder: 0o700 }, "/home": { folder: 0o700 }, [FIRST]: "{" });
  const notes = notesOf(disk, "/home");
  notes.put(stoneOf("/home"));
  const second = `/config/forgotten/${names(disk).find((name) => name.includes(".of-")) ?? ""}`;
  for (const content of ["{", encodeTombstone(stoneOf("/other"))]) {
    disk.unlink(second);
    const fd = disk.open(second, "create", 0o600);
    disk.write(fd, Buffer.from(content), 0);
    disk.close(fd);
    notes.put(stoneOf("/home"));
    expect(notes.get(ID)).toMatchObject({ store: "/home" });
  }
});
