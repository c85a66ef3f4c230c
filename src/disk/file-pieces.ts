import type { Disk } from "./disk.ts";

const PIECE = 256 * 1024;

/**
 * Yields the content of a file in pieces. The path must be absolute, and links are followed. Throws system errors;
 * `ENOTSUP` for a pipe, device or socket.
 */
export function* filePieces(disk: Disk, path: string): Generator<Uint8Array, void> {
  const fd = disk.open(disk.realpath(path), "read");
  try {
    // Refuse a pipe, because a reader cannot distinguish a pause in a pipe from its end.
    if (disk.fstat(fd).kind === "special")
      throw Object.assign(new Error("ENOTSUP: no regular file"), { code: "ENOTSUP" });
    for (;;) {
      const bytes = Buffer.allocUnsafe(PIECE);
      const count = disk.read(fd, bytes, null);
      if (count === 0) return;
      yield bytes.subarray(0, count);
    }
  } finally {
    disk.close(fd);
  }
}
