// Links the command of this checkout into node_modules/.bin, so that `npx chronicle` finds it. npm links only the
// commands of dependencies, not those of the root package.
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
