import { expect, it } from "vitest";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { LinkedFile } from "../../worktree/worktree.ts";
import { DirtyPaths } from "./dirty-paths.ts";

const paths = (...names: string[]): WorkspacePath[] => names as WorkspacePath[];

const links = (...names: string[]): LinkedFile[] => paths(...names).map((path) => ({ path, inode: `of ${path}` }));

async function watched() {
  const timers = { now: 0 };
  const handle = { degraded: false, settled: () => Promise.resolve(true), close: () => Promise.resolve() };
  const dirty = new DirtyPaths({ watch: () => Promise.resolve(handle), unchangedAmong: () => [] }, timers);
  await dirty.start();
  return { dirty, timers };
}

it("takes files with several links each time, because a write through another link is not reported", async () => {
  const { dirty } = await watched();
  expect(await dirty.take()).toBeUndefined();
  dirty.looked({ only: undefined, omitted: [], linked: links("a", "d/b") });
  dirty.hint(paths("c"));
  expect(await dirty.take()).toEqual(paths("c", "a", "d/b"));
  // `a` has a single link by now, and `c` has several.
  dirty.looked({ only: paths("c", "a", "d"), omitted: [], linked: links("c", "d/b") });
  expect(await dirty.take()).toEqual(paths("c", "d/b"));
  // This scan does not say which files have several links.
  dirty.looked({ only: paths("c"), omitted: [] });
  expect(await dirty.take()).toEqual(paths("c", "d/b"));
});

it("takes everything ten minutes after the last full scan, because a write through a memory map is not reported", async () => {
  const { dirty, timers } = await watched();
  await dirty.take();
  dirty.looked({ only: undefined, omitted: [], linked: [] });
  timers.now = 600_000;
  expect(await dirty.take()).toEqual([]);
  timers.now = 600_001;
  expect(await dirty.take()).toBeUndefined();
  // If that scan fails, everything is still to be scanned.
  dirty.giveBack(undefined);
  expect(await dirty.take()).toBeUndefined();
  dirty.looked({ only: undefined, omitted: [], linked: [] });
  expect(await dirty.take()).toEqual([]);
});

it("knows files with several links by their inodes, because another file with the same name may have other names", async () => {
  const { dirty } = await watched();
  dirty.looked({ only: undefined, omitted: [], linked: links("a") });
  expect(dirty.areNewLinks(links("a"))).toBe(false);
  expect(dirty.areNewLinks(links("moved").map((one) => ({ ...one, inode: "of a" })))).toBe(false);
  expect(dirty.areNewLinks(links("a").map((one) => ({ ...one, inode: "of b" })))).toBe(true);
});
