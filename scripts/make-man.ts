// Writes man/chronicle.1, the manual page, from the table of commands. test/cli/man.test.ts compares them.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manPage } from "./man/man-page.ts";

const folder = join(import.meta.dirname, "..", "man");
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "chronicle.1"), manPage());
