import { NodeDisk } from "../disk/node-disk.ts";
import { readFully, writeFileDurably } from "../disk/write-fully.ts";

/** All bytes of a file (an absolute path; links are followed). Throws system errors. */
export function readWholeFile(path: string): Buffer {
  const disk = new NodeDisk();
  const fd = disk.open(disk.realpath(path), "read");
  try {
    const bytes = Buffer.alloc(disk.fstat(fd).size);
    return bytes.subarray(0, readFully(disk, fd, bytes, 0));
  } finally {
    disk.close(fd);
  }
}

/** Writes a whole file (an absolute path) so that a reader sees the old or the new one. Throws system errors. */
export function writeWholeFile(path: string, text: string): void {
  writeFileDurably(new NodeDisk(), path, Buffer.from(text), { mode: 0o644 });
}
