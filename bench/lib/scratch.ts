import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Makes the folders for the trees and stores of one run. Nothing is deleted during the run, because a mass delete slows
 * down the next process that creates files on some file systems. Disposal deletes all folders, except if the user chose
 * the place with `--scratch`: then nothing is deleted.
 */
export interface Scratch extends Disposable {
  /** The folder that holds all others. */
  readonly folder: string;
  /** The place of the folders in words, for the report. */
  readonly place: string;
  /** Makes a new folder whose name ends with `name`, and returns its path. */
  fresh(name: string): string;
  /**
   * Waits until everything written so far is on disk, so that no tool is slowed down by the writes of the tool before.
   */
  settle(): void;
}

const IMAGE_BYTES = 60 * 2 ** 30;

/**
 * Opens a scratch in a new folder within `folder`. Without `folder`, the scratch is in a new image in `cache`, or, if
 * this process cannot mount one, in a new folder in `cache`.
 */
export function openScratch(cache: string, folder: string | undefined): Scratch {
  if (folder !== undefined) {
    mkdirSync(folder, { recursive: true });
    return scratchIn(mkdtempSync(join(folder, "bench-")), "the folder of --scratch", () => undefined);
  }
  const image = process.getuid?.() === 0 && process.platform === "linux" ? mountImage(cache) : undefined;
  if (image !== undefined) return image;
  const plain = mkdtempSync(join(cache, "scratch-"));
  return scratchIn(plain, "the disk of this checkout", () => rmSync(plain, { recursive: true, force: true }));
}

/** Mounts a new image: a sparse file with a journaled ext4. Returns `undefined` if that is not possible. */
function mountImage(cache: string): Scratch | undefined {
  const file = join(cache, `scratch-${process.pid}.img`);
  const mount = join(cache, `scratch-${process.pid}`);
  writeFileSync(file, "");
  truncateSync(file, IMAGE_BYTES);
  mkdirSync(mount, { recursive: true });
  const clean = () => {
    rmSync(file, { force: true });
    rmSync(mount, { recursive: true, force: true });
  };
  const made = [
    ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-N", "4000000", file],
    ["mount", "-o", "loop", file, mount],
  ].every(([program = "", ...args]) => spawnSync(program, args).status === 0);
  if (!made) {
    clean();
    return undefined;
  }
  return scratchIn(mount, "ext4 with a journal, loop-mounted", () => {
    const unmounted = spawnSync("umount", [mount], { encoding: "utf8" });
    if (unmounted.status !== 0) throw new Error(`could not unmount ${mount}: ${unmounted.stderr}`);
    clean();
  });
}

function scratchIn(folder: string, place: string, end: () => void): Scratch {
  let count = 0;
  return {
    folder,
    place,
    fresh(name) {
      const path = join(folder, `${String(++count).padStart(3, "0")}-${name}`);
      mkdirSync(path);
      return path;
    },
    settle() {
      spawnSync("sync", ["-f", folder]);
    },
    [Symbol.dispose]: end,
  };
}
