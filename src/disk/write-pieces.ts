import { ChronicleError } from "../core/values/errors.ts";
import type { Disk } from "./disk.ts";
import { folderOf, writeFully } from "./write-fully.ts";

/**
 * Throws `REFUSED` if the absolute path of a new file exists already. With `force`, the path of an existing regular
 * file is accepted.
 */
export function refuseThere(disk: Disk, path: string, force: boolean): void {
  const kind = disk.lstat(path)?.kind;
  if (kind === undefined || (force && kind === "file")) return;
  const [what, hint] =
    kind === "file"
      ? ["exists already", "name another file, or replace this one with --force"]
      : [`is ${kind === "dir" ? "a folder" : "no regular file"}`, "name a file that does not exist yet"];
  throw new ChronicleError("REFUSED", `${path} ${what}`, { hint, data: { path } });
}

/**
 * Writes a file of any length at an absolute path from its pieces, durably. First writes the pieces to a temporary file
 * in the same folder, and then renames this file. Returns the length in bytes. After a failure, the temporary file is
 * removed. Throws the errors of `refuseThere`, of the pieces, and of the disk. The file gets the mode 0600.
 */
export async function writePiecesDurably(
  disk: Disk,
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  { force }: { readonly force: boolean },
): Promise<number> {
  const fresh = `${path}.${process.pid}.new`;
  if (disk.lstat(fresh) !== undefined) disk.unlink(fresh);
  try {
    const bytes = await writePieces(disk, fresh, pieces);
    // Another program may have made a file at this path meanwhile.
    refuseThere(disk, path, force);
    disk.rename(fresh, path);
    disk.syncFolder(folderOf(path));
    return bytes;
  } catch (error) {
    if (disk.lstat(fresh) !== undefined) disk.unlink(fresh);
    throw error;
  }
}

async function writePieces(disk: Disk, path: string, pieces: AsyncIterable<Uint8Array>): Promise<number> {
  const fd = disk.open(path, "create", 0o600);
  try {
    let bytes = 0;
    for await (const piece of pieces) {
      writeFully(disk, fd, piece, null);
      bytes += piece.length;
    }
    await disk.syncBeside(fd);
    return bytes;
  } finally {
    disk.close(fd);
  }
}
