import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Returns bytes that do not compress, so that they can be found in a pack. */
export function noise(seed: string, length: number): Buffer {
  const parts: Buffer[] = [];
  for (let i = 0; i * 32 < length; i += 1) parts.push(createHash("sha256").update(`${seed} ${i}`).digest());
  return Buffer.concat(parts).subarray(0, length);
}

/** Returns the paths of all files below a folder. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name));
}

/** Changes one byte in the middle of every copy of a content that is stored in a store's folder. */
export function rot(home: string, content: Buffer): void {
  const part = content.subarray(0, 64);
  let found = 0;
  for (const path of filesBelow(join(home, "blobs"))) {
    const bytes = readFileSync(path);
    for (let at = bytes.indexOf(part); at >= 0; at = bytes.indexOf(part, at + 1)) {
      const middle = at + Math.floor(content.length / 2);
      bytes[middle] = (bytes[middle] ?? 0) ^ 1;
      found += 1;
    }
    if (found > 0) writeFileSync(path, bytes);
  }
  if (found === 0) throw new Error("the content was not found in the store");
}

/** Changes one byte of a file. */
export function flipByte(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}
