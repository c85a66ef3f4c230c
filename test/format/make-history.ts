import fs from "node:fs";
import { historyVectors } from "./history-vectors.ts";

/** Writes `vectors/history.json` again. Vectors that exist already change only with the format. */
fs.writeFileSync(new URL("vectors/history.json", import.meta.url), `${JSON.stringify(historyVectors(), null, 1)}\n`);
