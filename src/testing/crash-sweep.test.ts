import { describe, expect, it } from "vitest";
import { sweepCrashes, type SweepContext } from "./crash-sweep.ts";
import type { Disk } from "../disk/disk.ts";
import { SimDisk } from "./sim-disk/sim-disk.ts";
import { writeFully } from "../disk/write-fully.ts";

const LOG = "/log/wal";

/**
 * A tiny write-ahead log. Each line begins with the length of its text. The reader stops at the first incomplete line.
 */
class TinyLog {
  readonly #disk: Disk;
  readonly #options: { readonly sync: boolean; readonly syncFolder: boolean };

  constructor(disk: Disk, options = { sync: true, syncFolder: true }) {
    this.#disk = disk;
    this.#options = options;
  }

  append(text: string): void {
    const isNew = this.#disk.lstat(LOG) === undefined;
    const fd = this.#disk.open(LOG, "append");
    try {
      writeFully(this.#disk, fd, Buffer.from(`${text.length}:${text}\n`), null);
      if (this.#options.sync) this.#disk.sync(fd);
    } finally {
      this.#disk.close(fd);
    }
    if (isNew && this.#options.syncFolder) this.#disk.syncFolder("/log");
  }
}

function linesOf(disk: SimDisk): string[] {
  const lines: string[] = [];
  for (const line of disk.content(LOG)?.toString("latin1").split("\n") ?? []) {
    const [length, text] = line.split(":");
    if (text === undefined || text.length !== Number(length)) break;
    lines.push(text);
  }
  return lines;
}

const WORDS = ["one", "two", "three", "x".repeat(2000), "five"];

function tinySweep(options: { readonly sync: boolean; readonly syncFolder: boolean }) {
  return {
    prepare: () => SimDisk.fromTree({ "/log": { folder: 0o700 } }),
    run: (disk: SimDisk, acknowledge: (word: string) => void) => {
      const log = new TinyLog(disk, options);
      for (const word of WORDS) {
        log.append(word);
        acknowledge(word);
      }
    },
    check: (disk: SimDisk, { acknowledged }: SweepContext<string>) => {
      const found = linesOf(disk);
      expect(found.slice(0, acknowledged.length)).toEqual(acknowledged);
      expect(WORDS.slice(0, found.length)).toEqual(found);
    },
  };
}

describe("sweepCrashes", () => {
  it("passes a log that syncs, and counts its points, runs and checks", async () => {
    const result = await sweepCrashes(tinySweep({ sync: true, syncFolder: true }));
    // One open that creates, five writes and syncs, one syncFolder.
    expect(result.points).toBe(12);
    // The runs: undisturbed, before each operation, in the middle of each that can be torn, after the last one, and 12
    // × EIO, 11 × ENOSPC, 2 × EMFILE, 2 × EACCES.
    expect(result.runs).toBe(1 + 12 + 11 + 1 + 12 + 11 + 2 + 2);
    expect(result.checks).toBe((1 + 12 + 11 + 1) * 4 + (12 + 11 + 2 + 2) * 5);
  });

  it("catches a log that does not sync its bytes", async () => {
    await expect(sweepCrashes(tinySweep({ sync: false, syncFolder: true }))).rejects.toThrow(/end.*forget/);
  });

  it("catches a log that does not sync its folder", async () => {
    await expect(sweepCrashes(tinySweep({ sync: true, syncFolder: false }))).rejects.toThrow(/end.*forget/);
  });

  it("catches a log that appends after a failed write", async () => {
    const sweep = tinySweep({ sync: true, syncFolder: true });
    const run = (disk: SimDisk, acknowledge: (word: string) => void) => {
      const log = new TinyLog(disk);
      for (const word of WORDS) {
        try {
          log.append(word);
          acknowledge(word);
        } catch (error) {
          if (disk.stopped) throw error;
        }
      }
    };
    const failing = sweepCrashes({ ...sweep, run, errnos: ["EIO"], only: 4 });
    await expect(failing).rejects.toThrow(/write \/log\/wal\), errno/);
  });

  it("catches a log that takes the second sync for an answer about the first", async () => {
    const run = (disk: SimDisk, acknowledge: (word: string) => void) => {
      const fd = disk.open(LOG, "append");
      disk.syncFolder("/log");
      writeFully(disk, fd, Buffer.from("3:one\n"), null);
      try {
        disk.sync(fd);
      } catch {
        disk.sync(fd);
      }
      acknowledge("one");
    };
    const failing = sweepCrashes({ ...tinySweep({ sync: true, syncFolder: true }), run, errnos: ["EIO"] });
    await expect(failing).rejects.toThrow(/sync .*EIO/);
  });

  it("reports the mode, the operation and the error of each run", async () => {
    const seen: SweepContext<string>[] = [];
    const sweep = tinySweep({ sync: true, syncFolder: true });
    await sweepCrashes({ ...sweep, errnos: ["EIO"], only: 1, check: (_, context) => void seen.push(context) });
    expect(new Set(seen.map((each) => each.mode))).toEqual(new Set(["before", "torn", "after", "errno"]));
    expect(new Set(seen.map((each) => each.operation?.name))).toEqual(new Set(["write"]));
    expect(seen.find((each) => each.mode === "errno")).toMatchObject({ errno: "EIO", error: { code: "EIO" } });
  });

  it("fails reading operations too, if asked", async () => {
    const sweep = tinySweep({ sync: true, syncFolder: true });
    const plain = await sweepCrashes({ ...sweep, errnos: ["EIO"] });
    const reading = await sweepCrashes({ ...sweep, errnos: ["EIO"], reads: true, lasting: true });
    // Each append reads the stat of the file. All but the first one also open the existing file.
    expect(reading.points).toBe(plain.points + 5 + 4);
  });

  it("refuses a run that fails by itself, or does not do the same each time", async () => {
    const sweep = tinySweep({ sync: true, syncFolder: true });
    const failing = sweepCrashes({ ...sweep, run: () => Promise.reject(new Error("by itself")) });
    await expect(failing).rejects.toThrow("undisturbed run failed");
    let times = 0;
    const changing = sweepCrashes({ ...sweep, run: (disk) => (times++ === 0 ? disk.makeFolder("/new") : undefined) });
    await expect(changing).rejects.toThrow("must do the same each time");
  });

  it("makes more than 500 small runs in a second", async () => {
    const began = performance.now();
    const { runs } = await sweepCrashes({ ...tinySweep({ sync: true, syncFolder: true }), check: () => undefined });
    const perSecond = (runs / (performance.now() - began)) * 1000;
    expect(perSecond).toBeGreaterThan(500);
  });
});
