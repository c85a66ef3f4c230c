import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../../core/filter/filter.ts";
import { childOf, ROOT } from "../../core/values/path.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { gitRunner } from "../../store/run-git.ts";
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

/** Packs the object. Each run of git takes `tookMs` by the clock. Returns the result, and the commands of git. */
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
  return { kept: await states.pack(childOf(ROOT, ".git"), [object.trim()]), commands };
}

describe.skipIf(!hasGit)("the budget for objects that are kept", () => {
  it("gives the list and the pack 10 seconds and 64 MiB together", async () => {
    const { kept, commands } = await packed(4_000);
    expect(kept.pack?.subarray(0, 4).toString()).toBe("PACK");
    expect(commands.map(({ timeoutMs }) => timeoutMs)).toEqual([10_000, 6_000]);
    const [list = 0, pack = 0] = commands.map(({ mostBytes }) => mostBytes);
    expect([list, pack < list]).toEqual([64 * 1024 ** 2, true]);
  });

  it("keeps nothing once the time is over, and says so", async () => {
    const { kept, commands } = await packed(11_000);
    expect([commands.length, kept.pack, kept.problem]).toEqual([1, undefined, expect.stringContaining("10 seconds")]);
  });
});
