import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { chronicleBin } from "../helpers/cli-package.ts";
import { Project } from "../helpers/project.ts";

/**
 * A large restore writes its files in worker threads. The test kills its process at moments all over the restore. The
 * next command finishes the restore, the files before it are recorded, and no staged files are left. `KILLS`: the
 * number of kills.
 */
const KILLS = Number(process.env["KILLS"] ?? 2);
/** Enough files for a restore with threads. */
const FILES = 2_500;

function fill(project: Project, text: string): void {
  for (let i = 0; i < FILES; i += 1) project.write(`d${i % 50}/f${i}`, `${text} ${i} `.repeat(1 + (i % 30)));
  project.write("large.bin", Buffer.alloc(9 * 1024 * 1024, text));
  project.write("run.sh", `#!/bin/sh\n# ${text}\n`, 0o755);
}

/** Runs a command, and kills it after `killAfterMs`. Resolves to true if the command ended before that. */
async function run(project: Project, args: readonly string[], killAfterMs?: number): Promise<boolean> {
  const env = { ...process.env, CHRONICLE_HOME: project.home, XDG_CONFIG_HOME: join(project.configFolder, "..") };
  const child = spawn(process.execPath, [chronicleBin(), ...args], { cwd: project.folder, env, stdio: "ignore" });
  const ended = once(child, "exit");
  const timer = killAfterMs === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  const [code] = (await ended) as [number | null];
  clearTimeout(timer);
  if (killAfterMs === undefined) expect(code).toBe(0);
  return code !== null;
}

test(
  "a large restore that is killed anywhere is finished by the next command",
  { timeout: 120_000 * KILLS },
  async () => {
    await using project = new Project({ config: "config/chronicle" });
    fill(project, "one");
    await run(project, ["init", "--max-entries", "0"]);
    const before = project.tree();
    fill(project, "two");
    project.remove("d7");
    writeFileSync(project.at("mine.txt"), "mine");
    await run(project, ["snapshot"]);
    const after = project.tree();
    const started = performance.now();
    await run(project, ["restore", "0"]);
    const whole = performance.now() - started;
    expect(project.tree()).toEqual(before);
    for (let kill = 0; kill < KILLS; kill += 1) {
      await run(project, ["undo"]);
      expect(project.tree()).toEqual(after);
      await run(project, ["restore", "0"], whole * (0.2 + (0.8 * (kill + 0.5)) / KILLS));
      await run(project, ["restore", "0"]);
      expect(project.tree()).toEqual(before);
    }
    await run(project, ["verify"]);
    expect(existsSync(project.at(".chronicle-tmp"))).toBe(false);
    const to = join(project.base, "to");
    await run(project, ["restore", "0", "--to", to]);
    expect(project.tree(to)).toEqual(before);
  },
);
