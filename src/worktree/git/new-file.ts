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

/** Removes a file if it exists. */
export function dropFile(fs: ConfinedFs, path: WorkspacePath): void {
  try {
    fs.unlink(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT" && errnoOf(error) !== "ENOTDIR") throw error;
  }
}
