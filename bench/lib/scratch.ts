import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Makes the folders for the trees and repositories of one run. `fresh` gives a new folder each time. Nothing is deleted
 * before the end: on some file systems, a mass delete slows down the next process that creates files.
 */
export interface Scratch extends Disposable {
  readonly folder: string;
  /** The kind of file system beneath, for the table. */
  readonly kind: string;
  fresh(name: string): string;
  /** Waits until everything written so far is on disk, so that no tool pays for the one before it. */
  settle(): void;
}

const IMAGE_BYTES = 60 * 2 ** 30;

/** A scratch in `folder`, or in an image of its own beneath `cache` where this process may mount one. */
export function openScratch(cache: string, folder: string | undefined): Scratch {
  if (folder !== undefined) {
    mkdirSync(folder, { recursive: true });
    return scratchIn(mkdtempSync(join(folder, "bench-")), "the folder given", () => undefined);
  }
  const image = process.getuid?.() === 0 && process.platform === "linux" ? mountImage(cache) : undefined;
  if (image !== undefined) return image;
  const plain = mkdtempSync(join(cache, "scratch-"));
  return scratchIn(plain, "the disk of this checkout", () => rmSync(plain, { recursive: true, force: true }));
}

/** Mounts a new, sparse, journaled ext4. Undefined where that is not possible. */
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

function scratchIn(folder: string, kind: string, end: () => void): Scratch {
  let count = 0;
  return {
    folder,
    kind,
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
