/** The least that `status` needs without a watcher, in plain Node: looks at each file of a tree. Its argument is the tree. */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Returns the number of files beneath a folder. */
function look(folder: string): number {
  let files = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name === ".git") continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) files += look(path);
    else files += lstatSync(path).size >= 0 ? 1 : 0;
  }
  return files;
}

console.log(look(process.argv[2] ?? ""));
