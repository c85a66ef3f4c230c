import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

/** The next change finishes a restore that was killed. It says so, and leaves alone what a person has done since. */

const FILES = 200;
const PRELOAD = join(import.meta.dirname, "..", "helpers", "stop-at.c");

/** Returns the names of the project's files whose content begins with this word. */
function files(box: Sandbox, word: string): string[] {
  const names = readdirSync(box.project).filter((name) => /^f\d+$/.test(name));
  return names.filter((name) => readFileSync(join(box.project, name), "utf8").startsWith(word));
}

/** Makes a project in which a restore to the baseline was killed after some files were put back. */
async function halfRestored(box: Sandbox): Promise<void> {
  for (let n = 0; n < FILES; n += 1) box.write(`f${n}`, `old ${n}\n`);
  await box.must(["init"]);
  for (let n = 0; n < FILES; n += 1) box.write(`f${n}`, `new ${n}\n`);
  await box.must(["snapshot"]);
  const library = join(box.folder, "stop-at.so");
  spawnSync("gcc", ["-O2", "-shared", "-fPIC", "-o", library, PRELOAD, "-ldl"]);
  const env = { LD_PRELOAD: library, STOP_BENEATH: box.project, STOP_COUNT: join(box.folder, "calls") };
  // A restore stages all files, then puts them in place one by one. This whole restore counts the calls.
  box.run(["restore", "baseline", "--yes"], { env });
  const calls = Number(readFileSync(env.STOP_COUNT, "utf8"));
  await box.must(["undo", "--yes"]);
  expect(files(box, "old")).toEqual([]);
  box.run(["restore", "baseline", "--yes"], { env: { ...env, STOP_AT: String(Math.round(calls * 0.85)) } });
  expect(files(box, "old").length).toBeGreaterThan(0);
  expect(files(box, "old").length).toBeLessThan(FILES - 2);
}

it.skipIf(process.platform !== "linux" || !existsSync("/usr/bin/gcc")).each([
  ["snapshot", ["snapshot"]],
  ["run", ["run", "--", "true"]],
])(
  "71 %s finishes an interrupted restore, says so, and leaves a person's edit and deletion as they are",
  async (_name, words) => {
    using box = new Sandbox();
    await halfRestored(box);
    const [edited = "", removed = ""] = files(box, "new").toReversed();
    writeFileSync(join(box.project, edited), "mine\n");
    rmSync(join(box.project, removed));
    const said = await box.call(words);
    expect(said.stderr).toMatch(/finished the interrupted restore .*left alone \(edited since\): /);
    expect(said.stderr).toContain(edited);
    expect(said.stderr).toContain(removed);
    expect(readFileSync(join(box.project, edited), "utf8")).toBe("mine\n");
    expect(existsSync(join(box.project, removed))).toBe(false);
    expect(files(box, "old")).toHaveLength(FILES - 2);
    expect((await box.must(["history", removed])).stdout).toContain("deleted");
    await box.must(["verify"]);
  },
);
