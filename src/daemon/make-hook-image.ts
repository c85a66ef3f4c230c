import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import type { Disk } from "../disk/disk.ts";
import { hookImagePath, IMAGE_FLAGS, IS_CURRENT } from "./hook-image.ts";
import { hookEntryPath, hookImageEntryPath } from "./program-paths.ts";
import { ownUid, removeSmall } from "./run-folder.ts";

/** Time limit for making or trying an image, in milliseconds; making takes half a second of processor time. */
const PATIENCE_MS = 60_000;
/** The age, in milliseconds, from which a partial image of another process counts as left behind. */
const LEFT_BEHIND_MS = 600_000;

/**
 * Makes the image of the hook for a store (`hookImagePath`), unless the present one fits. Returns the path of the image
 * now there; `undefined` if none could be made: the store has no cache folder, the cache folder is another user's, the
 * hook was not built, or the new image does not work. Without an image hooks are only slower. The image is tried before
 * it is moved to where hooks look for it.
 */
export async function makeHookImage(disk: Disk, home: string): Promise<string | undefined> {
  const image = hookImagePath(home);
  const builder = hookImageEntryPath();
  const folder = disk.lstat(dirname(image));
  // Node writes the image as this process's user: root's code must not be in another user's store.
  if (folder?.uid !== ownUid() || disk.lstat(builder) === undefined) return undefined;
  if (disk.lstat(image) !== undefined && (await isCurrent(image))) return image;
  removeLeftovers(disk, dirname(image));
  const fresh = `${image}.${process.pid}.new`;
  removeSmall(disk, fresh);
  // Node keeps the mode of a file that is there, whatever the umask.
  disk.close(disk.open(fresh, "create", 0o600));
  try {
    const made = await run(["--snapshot-blob", fresh, "--build-snapshot", builder]);
    if (!made || !(await isCurrent(fresh))) return undefined;
    // A torn image would not be rejected: it would crash.
    syncFile(disk, fresh);
    disk.rename(fresh, image);
    return image;
  } finally {
    removeSmall(disk, fresh);
  }
}

function isCurrent(image: string): Promise<boolean> {
  return run([...IMAGE_FLAGS, "--snapshot-blob", image, hookEntryPath(), IS_CURRENT]);
}

/** Runs Node, which needs nothing of this process. Resolves to whether it succeeded. */
function run(args: readonly string[]): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const child = spawn(process.execPath, args, { env: {}, stdio: "ignore", timeout: PATIENCE_MS });
  child.on("error", () => resolve(false));
  child.on("exit", (code) => resolve(code === 0));
  return promise;
}

function syncFile(disk: Disk, path: string): void {
  const fd = disk.open(path, "read");
  try {
    disk.sync(fd);
  } finally {
    disk.close(fd);
  }
}

function removeLeftovers(disk: Disk, folder: string): void {
  for (const { name, kind } of disk.list(folder)) {
    if (kind !== "file" || !/^hook-.*\.new$/.test(name.toString())) continue;
    const path = join(folder, name.toString());
    const written = disk.lstat(path)?.mtimeNs;
    if (written !== undefined && Date.now() - Number(written / 1_000_000n) > LEFT_BEHIND_MS) removeSmall(disk, path);
  }
}
