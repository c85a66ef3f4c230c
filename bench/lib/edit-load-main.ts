/** The process of `editLoad`. Its argument is the plan as JSON. It prints the result as JSON. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { EditLoad, EditLoadPlan } from "./edit-load.ts";
import { nameOf } from "./edit-latency.ts";

const BEAT_MS = 10;
const BYTES = 400;

const { folder, files, perSecond, seconds } = JSON.parse(process.argv[2] ?? "") as EditLoadPlan;
const padding = "// the same every time.\n".repeat(BYTES / 24);
const all = perSecond * seconds;
const started = performance.now();
let edits = 0;
while (edits < all) {
  const due = Math.min(all, Math.ceil(((performance.now() - started) / 1000) * perSecond));
  for (; edits < due; edits++)
    writeFileSync(join(folder, nameOf(edits % files)), `edit ${edits} ${started}\n${padding}`);
  await pause(BEAT_MS);
}
console.log(JSON.stringify({ edits, seconds: (performance.now() - started) / 1000 } satisfies EditLoad));
