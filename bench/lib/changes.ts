import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { filesOfTree } from "./files-of-tree.ts";

const EDITS = 10;
const CREATIONS = 4;
const DELETIONS = 4;

/**
 * Makes 18 changes in a tree: edits 10 files and deletes 4, spread over the tree, and creates 4 in a new folder. Each
 * round changes other files. In all copies of a tree, a round changes the same files.
 */
export class Changes {
  readonly #tree: string;
  readonly #files: string[];

  constructor(tree: string) {
    this.#tree = tree;
    this.#files = filesOfTree(tree).filter((file) => !file.includes("bench-new"));
  }

  make(round: number): void {
    const step = Math.floor(this.#files.length / (EDITS + DELETIONS));
    for (let i = 0; i < EDITS + DELETIONS; i++) {
      const file = this.#files[(i * step + round * 7) % this.#files.length] ?? "";
      if (i < EDITS) appendFileSync(file, `// round ${round}\n`);
      else rmSync(file, { force: true });
    }
    const folder = join(this.#tree, `bench-new-${round}`);
    mkdirSync(folder);
    for (let i = 0; i < CREATIONS; i++)
      writeFileSync(join(folder, `new-${i}.ts`), `export const n = ${round * 10 + i};\n`);
  }
}
