import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PruneOptions } from "../../src/api/action-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { openStore } from "../../src/open.ts";
import type { Sandbox } from "../cli/sandbox.ts";

/** Ends the grace period of a forgotten history, or of all, in the configuration folder of a test. */
export function letGracePass(configFolder: string, id?: string): void {
  const folder = join(configFolder, "forgotten");
  for (const name of id === undefined ? readdirSync(folder) : [`${id}.json`]) {
    const file = join(folder, name);
    const stone = JSON.parse(readFileSync(file, "utf8")) as { until: string };
    writeFileSync(file, JSON.stringify({ ...stone, until: new Date(Date.now() - 1_000).toISOString() }));
  }
}

/** Prunes without a grace period, as a person at a terminal can. The next `gc` frees the contents. */
export async function pruneNow(box: Sandbox, rules: PruneOptions): Promise<void> {
  const places = { home: box.store, configFolder: join(box.folder, "config/chronicle") };
  const store = await openStore({ ...places, retention: { min_age_hours: 0 } });
  const workspace = await store.open({ folder: box.project });
  try {
    await workspace.prune({ ...rules, now: true });
  } finally {
    await workspace.close();
    await store.close();
  }
}

/** Prunes without a grace period. If the engine refuses that, prunes with one. */
export async function pruneSoon(workspace: WorkspaceApi, rules: PruneOptions): Promise<void> {
  try {
    await workspace.prune({ ...rules, now: true });
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "REFUSED") throw error;
    await workspace.prune(rules);
  }
}
