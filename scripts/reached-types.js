import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** Matches the relative modules that a declaration file imports, also by `import("…")`. */
const IMPORTS = /(?:\bfrom |\bimport\(|^import )"(\.[^"]+)"/gm;

/**
 * Removes the declaration files that no entry of the package reaches. The compiler also emits those of internal
 * modules, which import packages that are bundled and therefore are no dependencies of the package. `root`: the folder
 * of the package.
 */
export function removeUnreached(root) {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const reached = new Set();
  const waiting = Object.values(exports).map((entry) => join(root, entry.types));
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file) || !existsSync(file)) continue;
    reached.add(file);
    for (const [, name] of readFileSync(file, "utf8").matchAll(IMPORTS))
      waiting.push(resolve(dirname(file), name.replace(/(?<!\.d)\.[jt]s$/, ".d.ts")));
  }
  const types = join(root, "dist/types");
  for (const name of readdirSync(types, { recursive: true })) {
    const file = join(types, name);
    if (name.endsWith(".d.ts") && !reached.has(file)) rmSync(file);
  }
}
