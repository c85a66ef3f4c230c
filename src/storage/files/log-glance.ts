import type { Disk } from "../../disk/disk.ts";
import { readFully } from "../../disk/write-fully.ts";
import type { LogGlance } from "../backends.ts";
import { openIfThere } from "./log-reader.ts";

/** The end of a canonical line, with its newline: 58 to 66 bytes. */
const ENDING = /,"seq":([1-9]\d{0,15}),"ts":"([^"]{24})"\}\n$/;
const ENDING_BYTES = 66;

/**
 * Reads only the end of the last line, for a list of many logs. Returns `undefined` if that does not look like the end
 * of an event; the caller must then read the log. Proves nothing.
 */
export function glanceAtLog(disk: Disk, path: string): LogGlance | undefined {
  const fd = openIfThere(disk, path);
  if (fd === undefined) return undefined;
  try {
    const { size } = disk.fstat(fd);
    const ending = Buffer.alloc(Math.min(ENDING_BYTES, size));
    readFully(disk, fd, ending, size - ending.length);
    const found = ENDING.exec(ending.toString("latin1"));
    return found === null ? undefined : { seq: Number(found[1]), ts: String(found[2]) };
  } finally {
    disk.close(fd);
  }
}
