import { chmodSync, mkdirSync, statSync, symlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Change, Entry } from "../../src/core/values/entry.ts";
import { DEFAULT_FILTER } from "../../src/core/filter/filter.ts";
import { parsePath } from "../../src/core/values/path.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { sweepCrashes } from "../../src/testing/crash-sweep.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { DiskWorktree } from "../../src/worktree/disk/disk-worktree.ts";
import { asSomebody } from "../helpers/as-somebody.ts";
import { Project } from "../helpers/project.ts";

const MODES = [0o000, 0o111, 0o300];
const onLinux = process.platform === "linux";

function modeOf(project: Project, path: string): number {
  return statSync(project.at(path)).mode & 0o7777;
}

describe.runIf(onLinux)("Truth: a folder that its owner has closed to himself", () => {
  it.each(MODES)("is opened by undo, as its dry run says, and closed by redo (%o)", async (mode) => {
    await using project = new Project();
    await asSomebody(project, async () => {
      for (const path of ["d/in", "b"]) project.write(path, "before\n");
      const workspace = await project.init();
      await workspace.action({ type: "run_command", payload: { command: "make" } }, () => {
        project.write("b", "after\n");
        chmodSync(project.at("d"), mode);
      });
      try {
        const foreseen = await workspace.undo({ dryRun: true });
        const done = await workspace.undo();
        expect([foreseen.changes, foreseen.skipped]).toEqual([done.changes, done.skipped]);
        expect([project.read("b"), modeOf(project, "d")]).toEqual(["before\n", 0o755]);
        await workspace.redo();
        expect([project.read("b"), modeOf(project, "d")]).toEqual(["after\n", mode]);
        await workspace.undo();
        expect([project.read("d/in"), modeOf(project, "d")]).toEqual(["before\n", 0o755]);
      } finally {
        chmodSync(project.at("d"), 0o755);
      }
      await workspace.close();
    });
  });

  it("is not opened through a link to it", async () => {
    await using project = new Project();
    await asSomebody(project, async () => {
      mkdirSync(project.at("d"), { mode: 0 });
      symlinkSync("d", project.at("l"));
      const disk = new NodeDisk();
      expect(() => disk.letOwnerRead(project.at("l"))).toThrow(/ENOTDIR|ELOOP/);
      expect(modeOf(project, "d")).toBe(0);
      disk.letOwnerRead(project.at("d"));
      expect(modeOf(project, "d")).toBe(0o400);
    });
  });
});

function folder(mode: number): Entry {
  return { path: parsePath("d"), kind: "dir", mode, size: 0, mtimeMs: 0, hash: undefined };
}

function worktreeOn(disk: SimDisk): DiskWorktree {
  const limits = { maxEntries: 0, maxBytes: 0, maxFileSize: 0 };
  return new DiskWorktree({
    disk,
    roots: [{ id: undefined, folder: "/base", filter: DEFAULT_FILTER, limits }],
    cacheFile: "/store/stat.cache",
    staging: undefined,
    storeFolders: ["/store"],
    clock: () => 4_000_000_000_000,
  });
}

describe("Truth: a closed folder on a disk that loses power", () => {
  const ways = MODES.flatMap((mode) => [0o755, 0o311].map((goal) => ({ mode, goal })));
  it.each(ways.filter(({ mode, goal }) => mode !== goal))(
    "gets its mode after each crash: $mode to $goal",
    async ({ mode, goal }) => {
      const changes: Change[] = [{ path: parsePath("d"), before: folder(mode), after: folder(goal) }];
      const contents = async function* (): AsyncGenerator<never> {};
      const request = { token: "TOKEN", changes, contents, onBlocked: "fail" } as const;
      await sweepCrashes({
        prepare: () =>
          SimDisk.fromTree(
            {
              "/store": { folder: 0o700 },
              "/base": { folder: 0o755 },
              "/base/d/in": "in",
              "/base/d": { folder: mode },
            },
            { enforceModes: true, uid: 1000 },
          ),
        run: async (disk) => {
          expect((await worktreeOn(disk).apply(request)).blocked).toEqual([]);
          expect(disk.lstat("/base/d")?.mode).toBe(goal);
        },
        check: async (disk) => {
          const report = await worktreeOn(disk).apply({ ...request, resume: true });
          expect([report.blocked, disk.lstat("/base/d")?.mode]).toEqual([[], goal]);
        },
      });
    },
  );
});
