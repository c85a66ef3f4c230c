import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";

/** Appends 1,000 bytes and syncs them, 100 times. Returns the milliseconds of each: the cost of the disk alone. */
export function diskSyncs(file: string): number[] {
  const fd = openSync(file, "a");
  const samples = Array.from({ length: 100 }, () => {
    const started = performance.now();
    writeSync(fd, "x".repeat(1_000));
    fdatasyncSync(fd);
    return performance.now() - started;
  });
  closeSync(fd);
  return samples;
}
