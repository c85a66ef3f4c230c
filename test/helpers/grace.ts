import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Makes it a day later for every history that was forgotten, in the configuration folder of a test. */
export function letGracePass(configFolder: string): void {
  const folder = join(configFolder, "forgotten");
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    const stone = JSON.parse(readFileSync(file, "utf8")) as { until: string };
    writeFileSync(file, JSON.stringify({ ...stone, until: new Date(Date.now() - 1_000).toISOString() }));
  }
}
