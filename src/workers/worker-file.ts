import { fileURLToPath } from "node:url";
import type { Disk } from "../disk/disk.ts";

/** Code that worker threads run. */
export type WorkerName = "ingest-worker" | "stage-worker";

/** In a checkout the sources run as they are; in the package the workers are bundled beside this code. */
export function workerFile(name: WorkerName): URL {
  const file = import.meta.url.endsWith(".ts") ? `./${name}.ts` : `./${name}.js`;
  return new URL(file, import.meta.url);
}

/** Is the workers' code there? A program that has bundled this code has only the one file, and works without threads. */
export function hasWorkers(disk: Disk): boolean {
  // A bundler that makes CommonJS leaves the address undefined.
  const here: string | undefined = import.meta.url;
  if (here === undefined || !here.startsWith("file:")) return false;
  return (["ingest-worker", "stage-worker"] as const).every(
    (name) => disk.lstat(fileURLToPath(workerFile(name))) !== undefined,
  );
}
