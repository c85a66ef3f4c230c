import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WorktreeEditor, WorktreeHarness, HarnessOptions } from "../../testing/worktree-harness.ts";
import { expect, it } from "vitest";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../../core/filter/filter.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { worktreeSuite } from "../../testing/worktree-suite.ts";
import { DiskWorktree } from "./disk-worktree.ts";

const disk = new NodeDisk();

function editorOf(root: string): WorktreeEditor {
  const at = (path: string): string => join(root, path);
  return {
    write(path, content, mode = 0o644) {
      fs.writeFileSync(at(path), content, { mode });
      chmodSync(at(path), mode);
    },
    makeFolder: (path, mode = 0o755) => mkdirSync(at(path), { mode }),
    symlink: (target, path) => fs.symlinkSync(target, at(path)),
    remove: (path) => rmSync(at(path), { recursive: true }),
    move: (from, to) => fs.renameSync(at(from), at(to)),
    chmod: (path, mode) => chmodSync(at(path), mode),
    read: (path) =>
      fs.lstatSync(at(path)).isSymbolicLink() ? fs.readlinkSync(at(path), "buffer") : fs.readFileSync(at(path)),
    stat: (path) => disk.lstat(at(path)),
    list: () => fs.readdirSync(root, { recursive: true, encoding: "utf8" }).sort(),
  };
}

function harnessOf(inStore: boolean): (options: HarnessOptions) => WorktreeHarness {
  return ({ filter, limits }) => {
    const base = fs.realpathSync(mkdtempSync(join(tmpdir(), "worktree-")));
    const folder = join(base, "root");
    const store = join(base, "store");
    mkdirSync(folder);
    mkdirSync(store);
    let ahead = 0;
    const open = (): DiskWorktree =>
      new DiskWorktree({
        disk,
        roots: [{ id: undefined, folder, filter, limits }],
        cacheFile: join(store, "stat.cache"),
        staging: inStore ? join(store, "staging") : undefined,
        storeFolders: [store],
        clock: () => Date.now() + ahead,
      });
    const worktree = open();
    return {
      worktree,
      edit: editorOf(folder),
      reopen: open,
      later: () => {
        ahead += 5000;
      },
      dispose: () => {
        if (existsSync(base)) rmSync(base, { recursive: true });
      },
    };
  };
}

it("a changed exclude file of git counts as changed rules until the next full scan, without a watcher", async () => {
  const harness = harnessOf(true)({ filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS });
  const { worktree, edit } = harness;
  const scan = (): Promise<unknown> => worktree.scan({}, () => undefined);
  try {
    edit.makeFolder(".git");
    edit.makeFolder(".git/info");
    expect(worktree.haveRulesMoved()).toBe(false);
    await scan();
    expect(worktree.haveRulesMoved()).toBe(false);
    for (const rules of ["ignored\n", "", "other\n"]) {
      edit.write(".git/info/exclude", rules);
      expect(worktree.haveRulesMoved()).toBe(true);
      await worktree.scan({ only: [] }, () => undefined);
      expect(worktree.haveRulesMoved()).toBe(true);
      await scan();
      expect(worktree.haveRulesMoved()).toBe(false);
    }
  } finally {
    harness.dispose();
  }
});

it("a new file in the root or beside it is no change of git's rules, but a new .git folder beside it is", async () => {
  const harness = harnessOf(true)({ filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS });
  const { worktree, edit } = harness;
  const scan = (): Promise<unknown> => worktree.scan({}, () => undefined);
  try {
    await scan();
    edit.write("file", "made in the root\n");
    edit.write("../file", "made beside it\n");
    expect(worktree.haveRulesMoved()).toBe(false);
    edit.makeFolder("../.git");
    expect(worktree.haveRulesMoved()).toBe(true);
  } finally {
    harness.dispose();
  }
});

worktreeSuite("DiskWorktree, staging in the store", harnessOf(true));
worktreeSuite("DiskWorktree, staging in the root", harnessOf(false));
