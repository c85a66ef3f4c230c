import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";

/**
 * Accepts what each view of the page shows now, in test/page/accepted: `node scripts/accept-page-pictures.ts [VIEW]`.
 * Look at the pictures before you commit them. Needs Chromium at /usr/bin/chromium.
 */

const repo = dirname(import.meta.dirname);
const [view] = process.argv.slice(2);
const only = view === undefined ? [] : ["-t", `looks as accepted: ${view}`];
const words = ["run", "--project", "long", "test/page/looks.long.test.ts", ...only];
const env = { ...process.env, PAGE_PICTURES: "accept", CHRONICLE_REQUIRE_BROWSER: "1" };
const vitest = join(repo, "node_modules", ".bin", "vitest");
process.exitCode = spawnSync(vitest, words, { cwd: repo, env, stdio: "inherit" }).status ?? 1;
