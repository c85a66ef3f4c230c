import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../../core/filter/filter.ts";
import { childOf, ROOT } from "../../core/values/path.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { gitRunner } from "../../store/run-git.ts";
import type { KeptObjects } from "../git-states.ts";
import { DiskGitStates } from "./disk-git-states.ts";
import type { GitCommand } from "./run-git.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-git-states-")));
const hasGit = spawnSync("git", ["--version"]).status === 0;
let object = "";

beforeAll(() => {
  spawnSync("git", ["init", "-q"], { cwd: folder });
  object = spawnSync("git", ["hash-object", "-w", "--stdin"], { cwd: folder, input: "text", encoding: "utf8" }).stdout;
});
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * Packs the object, twice with one budget. Each run of git takes `tookMs` by the clock. Returns the results, and the
 * commands of git.
 */
async function packed(tookMs: number) {
  const commands: GitCommand[] = [];
  let ms = Date.now();
  const disk = new NodeDisk();
  const runGit = gitRunner({ disk, untrusted: () => [folder] });
  const states = new DiskGitStates({
    disk,
    roots: () => [{ id: undefined, folder, filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS }],
    user: {},
    run: async (command) => {
      commands.push(command);
      const result = await runGit(command);
      ms += tookMs;
      return result;
    },
    clock: () => ms,
    newId: () => "id",
  });
  const budget = states.keepBudget();
  const pack = (): Promise<KeptObjects> => states.pack(childOf(ROOT, ".git"), [object.trim()], budget);
  return { kept: await pack(), again: await pack(), commands };
}

describe.skipIf(!hasGit)("the budget for objects that are kept", () => {
  it("gives the list and the pack of all repositories 10 seconds and 64 MiB together", async () => {
    const { kept, again, commands } = await packed(3_000);
    expect([kept, again].map(({ pack }) => pack?.subarray(0, 4).toString())).toEqual(["PACK", "PACK"]);
    expect(commands.map(({ timeoutMs }) => timeoutMs)).toEqual([10_000, 7_000, 4_000, 1_000]);
    const bytes = commands.map(({ mostBytes }) => mostBytes);
    expect(bytes[0]).toBe(64 * 1024 ** 2);
    expect(bytes.every((one, i) => i === 0 || one < (bytes[i - 1] ?? 0))).toBe(true);
  });

  it("keeps nothing once the time is over, runs git no more, and says so", async () => {
    const { kept, again, commands } = await packed(11_000);
    const nothing = { lacking: 0, problem: expect.stringContaining("10 seconds") };
    expect([commands.length, kept, again]).toEqual([1, nothing, nothing]);
  });
});
