import { fileURLToPath } from "node:url";
import type { Disk } from "../disk/disk.ts";

/** The code files of worker threads. */
export type WorkerName = "ingest-worker" | "stage-worker";

/**
 * Returns the file of a worker. In a checkout the sources run directly; in the package the workers are bundled beside
 * this code.
 */
export function workerFile(name: WorkerName): URL {
  const file = import.meta.url.endsWith(".ts") ? `./${name}.ts` : `./${name}.js`;
  return new URL(file, import.meta.url);
}

/**
 * True if the workers' code exists. A program that has bundled this code has only one file, and works without threads.
 */
export function hasWorkers(disk: Disk): boolean {
  // `import.meta.url` is undefined if a bundler makes CommonJS.
  const here: string | undefined = import.meta.url;
  if (here === undefined || !here.startsWith("file:")) return false;
  return (["ingest-worker", "stage-worker"] as const).every(
    (name) => disk.lstat(fileURLToPath(workerFile(name))) !== undefined,
  );
}
