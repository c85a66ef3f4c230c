import { describe, expect, it } from "vitest";
import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import type { Disk, FileStat } from "../../src/disk/disk.ts";
import { sweepCrashes, type SweepResult } from "../../src/testing/crash-sweep.ts";
import { engineSweeps, logPath, type Through } from "../helpers/engine-sweep.ts";

/** Without `SWEEP_ALL`, the long sweeps disturb only every second or third operation. */
const ALL = process.env["SWEEP_ALL"] !== undefined;

function report(name: string, { points, runs, checks }: SweepResult): void {
  process.stdout.write(`crash sweep of ${name}: ${points} points, ${runs} runs, ${checks} checks\n`);
}

async function sweep(name: string, through: Through, options: { every?: number; errnos?: readonly string[] }) {
  const scenario = await engineSweeps[name]?.(through);
  if (scenario === undefined) throw new Error(`there is no sweep ${name}`);
  return sweepCrashes({ ...scenario, ...options });
}

/** A sweep is several hundred runs. It takes half a minute alone, and ten times as long beside other work. */
const SWEEP_MS = 600_000;

describe("crash sweep", () => {
  it.each([
    ["init", 40, 2],
    ["capture", 10, 1],
    ["capture behind a torn tail", 15, 1],
    ["restore", 30, 3],
    ["undo", 30, 3],
    ["gc", 5, 1],
  ])(
    "%s",
    async (name, least, every) => {
      const result = await sweep(name, (disk) => disk, ALL ? {} : { every });
      report(name, result);
      expect(result.points).toBeGreaterThan(least);
    },
    SWEEP_MS,
  );
});

/** Replaces some operations of the disk, to plant a bug that the sweep must find. */
function planted(replace: (disk: SimDisk) => Partial<Disk>): Through {
  return (disk) => {
    const changed = replace(disk);
    return new Proxy(disk, {
      get: (target, key) => {
        const own: unknown = Reflect.get(changed, key) ?? Reflect.get(target, key, target);
        return typeof own === "function" ? (own as (...args: unknown[]) => unknown).bind(target) : own;
      },
    });
  };
}

const bugs: readonly (readonly [string, string, Through])[] = [
  ["a sync that does nothing", "capture", planted(() => ({ sync: () => undefined }))],
  ["names that are never made durable", "init", planted(() => ({ syncFolder: () => undefined, syncAll: () => true }))],
  [
    "a torn tail that is not noticed, so that the next line is glued to it",
    "capture behind a torn tail",
    planted(hidesTornTail),
  ],
  ["a file that is deleted before its successor is staged", "restore", planted(deletesFirst)],
];

/** Reports a size of the log that ends with the last whole line, whatever follows. */
function hidesTornTail(disk: SimDisk): Partial<Disk> {
  const logs = new Set<number>();
  const whole = (stat: FileStat): FileStat => ({ ...stat, size: stat.size - tornBytes(disk, stat.size) });
  return {
    open: (path, how, mode) => {
      const fd = disk.open(path, how, mode);
      if (path === logPath(disk)) logs.add(fd);
      else logs.delete(fd);
      return fd;
    },
    fstat: (fd) => (logs.has(fd) ? whole(disk.fstat(fd)) : disk.fstat(fd)),
    lstat: (path) => {
      const stat = disk.lstat(path);
      return stat !== undefined && path === logPath(disk) ? whole(stat) : stat;
    },
  };
}

function tornBytes(disk: SimDisk, size: number): number {
  const fd = disk.open(logPath(disk), "read");
  const bytes = Buffer.alloc(size);
  disk.read(fd, bytes, 0);
  disk.close(fd);
  return size - bytes.lastIndexOf(10) - 1;
}

/** Removes a file that is to be replaced as soon as its first successor is created in staging. */
function deletesFirst(disk: SimDisk): Partial<Disk> {
  return {
    open: (path, how, mode) => {
      if (how === "create" && disk.lstat("/proj/a.txt") !== undefined && isStaging(disk)) disk.unlink("/proj/a.txt");
      return disk.open(path, how, mode);
    },
  };
}

function isStaging(disk: SimDisk): boolean {
  return Object.keys(disk.dump("/store")).some((path) => /staging\/.+\/new$/.test(path));
}

describe("the sweep finds a planted bug", () => {
  it.each(bugs)("%s", async (_, name, through) => {
    await expect(sweep(name, through, {})).rejects.toThrow(/^Crash sweep: /);
  });
});
