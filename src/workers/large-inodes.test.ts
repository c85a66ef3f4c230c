import { expect, test } from "vitest";
import { sha256, sha256Pieces } from "../core/values/hash.ts";
import type { DiskPath, FileStat } from "../disk/disk.ts";
import { SimDisk } from "../testing/sim-disk/sim-disk.ts";
import { ConfinedFs } from "../worktree/files/confined-fs.ts";
import { ingestBatch, statOfRow } from "./ingest-job.ts";
import { newStats, putStat, statOfStaged } from "./stage-job.ts";

const LARGE = 2n ** 64n - 100n;

/** A disk whose inode and device numbers are 2^63 or more. */
class LargeNumbers extends SimDisk {
  override lstat(path: DiskPath): FileStat | undefined {
    return enlarged(super.lstat(path));
  }

  override fstat(fd: number): FileStat {
    return enlarged(super.fstat(fd));
  }
}

function enlarged<S extends FileStat | undefined>(stat: S): S {
  return stat === undefined ? stat : { ...stat, ino: LARGE + (stat.ino % 90n), dev: LARGE };
}

function diskWithFile(): { readonly disk: SimDisk; readonly stat: FileStat } {
  const disk = new LargeNumbers();
  disk.makeFolder("/base");
  disk.close(disk.open("/base/f", "create", 0o644));
  const stat = disk.lstat("/base/f");
  if (stat === undefined) throw new Error("there is no file");
  return { disk, stat };
}

test("a file that a worker has read has the stat of the scan, also with an inode number above 2^63", () => {
  const { disk, stat } = diskWithFile();
  using fs = new ConfinedFs(disk, "/base");
  const sink = { small: sha256, large: sha256Pieces };
  const columns = ingestBatch([fs], { paths: ["f"], roots: [0], targets: new Map() }, sink);
  expect(statOfRow(columns, 0, stat)).toBe(stat);
  expect(statOfRow(columns, 0, { ...stat, mtimeNs: 1n }).ino).toBe(stat.ino);
});

test("a file that a worker has written keeps its inode and device numbers, also above 2^63", () => {
  const { stat } = diskWithFile();
  const stats = newStats(1);
  putStat(stats, 0, stat);
  expect(statOfStaged({ done: Uint8Array.of(1), stats }, 0)).toMatchObject({ ino: stat.ino, dev: stat.dev });
});
