import { fileURLToPath } from "node:url";
import type { Disk } from "../disk/disk.ts";

export type WorkerName = "ingest-worker" | "stage-worker" | "search-worker";

/**
 * Returns the source file of a worker if the TypeScript sources run directly. Otherwise returns the bundle beside this
 * code.
 */
export function workerFile(name: WorkerName): URL {
  const file = import.meta.url.endsWith(".ts") ? `./${name}.ts` : `./${name}.js`;
  return new URL(file, import.meta.url);
}

/** True if the workers' code files exist. A program that bundles this code into one file works without threads. */
export function hasWorkers(disk: Disk): boolean {
  // `import.meta.url` is undefined if a bundler makes CommonJS.
  const here: string | undefined = import.meta.url;
  if (here === undefined || !here.startsWith("file:")) return false;
  return (["ingest-worker", "stage-worker", "search-worker"] as const).every(
    (name) => disk.lstat(fileURLToPath(workerFile(name))) !== undefined,
  );
}
