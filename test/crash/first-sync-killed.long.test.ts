import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createClient } from "../../src/client/create-node-client.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { ReplicateProcess } from "../helpers/replicate-process.ts";
import { contentsIn, random } from "../helpers/replica-trial.ts";
import { ServerProcess } from "../helpers/server-process.ts";

/**
 * A replica that is killed in its first sync, while its threads stage files early, before it is decided whether these
 * files come into the folder. `CRASH_RUNS`: the number of kills.
 */

const RUNS = Number(process.env["CRASH_RUNS"] ?? 2);
const SEED = Number(process.env["CRASH_SEED"] ?? 4713);
const FILES = 3_000;

function fill(folder: string): void {
  for (let i = 0; i < FILES; i += 1) {
    const at = join(folder, `d${i % 30}`, `e${i % 7}`);
    if (i < 210) mkdirSync(at, { recursive: true });
    // Some files have the same content, and one is empty.
    writeFileSync(join(at, `f${i}`), `${i % 100 === 0 ? "same" : i} `.repeat(i === 7 ? 0 : 1 + (i % 900)));
  }
  writeFileSync(join(folder, "large"), Buffer.alloc(9_000_000, "large "));
}

test(
  `a first sync that was killed is finished by the next one, and its early-staged files are removed; ${RUNS} kills`,
  { timeout: 60_000 + RUNS * 60_000 },
  async () => {
    await using origin = new ServerProcess(["--replication"]);
    fill(origin.project);
    await origin.start();
    const socket = origin.socketUrl.slice("unix:".length);
    const expected = contentsIn(origin.project);
    const next = random(SEED);
    let wasEarly = 0;
    for (let run = 0; run < RUNS; run += 1) {
      await using box = new ReplicateProcess();
      await box.start(["--connect", socket]);
      const early = join(box.home, "workspaces", box.id, "staging", "early", "new");
      const isThere = (): boolean => existsSync(early) && readdirSync(early).length > 0;
      for (let waits = 0; waits < 2_000 && !isThere() && !existsSync(join(box.folder, "large")); waits += 1)
        await sleep(2);
      await sleep(next() * 300);
      wasEarly += isThere() ? 1 : 0;
      await box.kill();
      await box.start(["--connect", socket]);
      const here = createClient({ url: box.socketUrl });
      await here.syncs.flush(box.id, { timeoutMs: 60_000 });
      expect(contentsIn(box.folder)).toEqual(expected);
      await here.close();
      expect(await box.kill("SIGINT")).toBe(0);
      expect(existsSync(join(early, ".."))).toBe(false);
      const verified = spawnSync(process.execPath, [chronicleBin(), "verify"], { cwd: box.folder, env: box.env });
      expect(verified.status, String(verified.stderr)).toBe(0);
    }
    expect(wasEarly).toBeGreaterThan(0);
    process.stdout.write(`${wasEarly} of ${RUNS} kills while files were staged early\n`);
  },
);
