import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** The files beneath a folder that contain these bytes, which no compression may change. */
export function holding(folder: string, bytes: Buffer): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(folder, name)).isFile() && readFileSync(join(folder, name)).includes(bytes))
    .sort();
}
