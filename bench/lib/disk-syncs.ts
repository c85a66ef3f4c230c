import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";

/** Milliseconds of each of 100 durable appends: the cost of the disk alone, for any program. */
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
