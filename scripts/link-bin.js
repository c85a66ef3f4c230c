// Makes `npx chronicle` find this checkout's own command: npm links the bins of dependencies, not the root's.
import { mkdirSync, readlinkSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const link = join(root, "node_modules", ".bin", "chronicle");

function currentTarget() {
  try {
    return readlinkSync(link);
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

mkdirSync(dirname(link), { recursive: true });
if (currentTarget() === undefined) symlinkSync("../../bin/chronicle.cjs", link);
