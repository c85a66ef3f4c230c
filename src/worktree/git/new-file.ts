import { errnoOf } from "../../core/values/errors.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";

/**
 * Creates a file, which must not exist yet, and writes its content durably. If the content cannot be written (the disk
 * may be full), removes the file again: an empty lock or an empty `.git` file would make every command of git fail.
 */
export function writeNewFile(fs: ConfinedFs, path: WorkspacePath, mode: number, content: Uint8Array): void {
  using file = fs.create(path, mode);
  try {
    fs.write(file, content);
    fs.sync(file);
  } catch (error) {
    dropFile(fs, path);
    throw error;
  }
}

/**
 * Creates a file, which must not exist yet, together with its content, so that nobody ever finds it empty: not even if
 * the process is killed. Throws `EEXIST` if the file exists. `staged`: the name beside it under which it is written.
 */
export function placeNewFile(
  fs: ConfinedFs,
  { path, staged }: { readonly path: WorkspacePath; readonly staged: WorkspacePath },
  mode: number,
  content: Uint8Array,
): void {
  // A process that was killed may have left this file.
  dropFile(fs, staged);
  writeNewFile(fs, staged, mode, content);
  try {
    fs.link(staged, path);
  } catch (error) {
    if (!NO_LINKS.has(errnoOf(error) ?? "")) throw error;
    writeNewFile(fs, path, mode, content);
  } finally {
    dropFile(fs, staged);
  }
}

/** The errors of a file system that has no hard links. */
const NO_LINKS: ReadonlySet<string> = new Set(["EPERM", "EACCES", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/** Removes a file if it exists. */
export function dropFile(fs: ConfinedFs, path: WorkspacePath): void {
  try {
    fs.unlink(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT" && errnoOf(error) !== "ENOTDIR") throw error;
  }
}
