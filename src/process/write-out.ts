import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";

/** The time between two attempts to write into a full pipe, in milliseconds. */
const FULL_PIPE_MS = 5;

/**
 * Blocks this thread for `ms` milliseconds. Only the timeout ends the wait, because no other thread has the buffer.
 */
function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/**
 * Writes all bytes to the descriptor of a standard stream. Node's streams are not used, because loading them takes
 * longer than writing a short answer. Waits without limit while a non-blocking pipe is full. If the reader is gone, the
 * rest is dropped. Throws other system errors.
 */
export function writeOut(disk: Disk, fd: number, bytes: Uint8Array): void {
  let rest = bytes;
  while (rest.length > 0) {
    try {
      rest = rest.subarray(disk.write(fd, rest, null));
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === "EPIPE") return;
      if (errno !== "EAGAIN") throw error;
      sleep(FULL_PIPE_MS);
    }
  }
}
