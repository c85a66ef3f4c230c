import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * Returns the names of all files below a folder that contain these bytes, sorted. Bytes that were compressed are not
 * found.
 */
export function holding(folder: string, bytes: Buffer): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(folder, name)).isFile() && readFileSync(join(folder, name)).includes(bytes))
    .sort();
}
