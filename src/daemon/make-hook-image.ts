import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import type { Disk } from "../disk/disk.ts";
import { hookImagePath, IMAGE_FLAGS, IS_CURRENT } from "./hook-image.ts";
import { hookEntryPath, hookImageEntryPath } from "./program-paths.ts";
import { ownUid, removeSmall } from "./run-folder.ts";

/**
 * The time limit for making or testing an image, in milliseconds. Making an image takes half a second of processor
 * time.
 */
const PATIENCE_MS = 60_000;
/** The age in milliseconds from which a partial image of another process is removed as abandoned. */
const LEFT_BEHIND_MS = 600_000;

/**
 * Makes the image of the hook for a store (see `hookImagePath`), unless the present image is current. The new image is
 * tested before it is moved to the path at which hooks look for it. Returns the path of the image. Returns `undefined`
 * if no image could be made: the store has no cache folder, the cache folder belongs to another user, the hook was not
 * built, or the new image does not work. Without an image, hooks work, but are slower.
 */
export async function makeHookImage(disk: Disk, home: string): Promise<string | undefined> {
  const image = hookImagePath(home);
  const builder = hookImageEntryPath();
  const folder = disk.lstat(dirname(image));
  // Node writes the image as the user of this process. An image that root has made must not be in another user's store.
  if (folder?.uid !== ownUid() || disk.lstat(builder) === undefined) return undefined;
  if (disk.lstat(image) !== undefined && (await isCurrent(image))) return image;
  removeLeftovers(disk, dirname(image));
  const fresh = `${image}.${process.pid}.new`;
  removeSmall(disk, fresh);
  // The file is created here, because Node keeps the mode of an existing file, while the mode of a new file would
  // depend on the umask.
  disk.close(disk.open(fresh, "create", 0o600));
  try {
    const made = await run(["--snapshot-blob", fresh, "--build-snapshot", builder]);
    if (!made || !(await isCurrent(fresh))) return undefined;
    // The image is synced before it is renamed, because Node does not reject a torn image but crashes.
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

/** Runs Node with an empty environment. Resolves to true if Node succeeds (exit code 0). */
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
