import { posix } from "node:path";
import type { Disk, FileStat } from "../../disk/disk.ts";
import type { HarnessOptions, WorktreeEditor, WorktreeHarness } from "../../testing/worktree-harness.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { worktreeSuite } from "../../testing/worktree-suite.ts";
import { DiskWorktree } from "./disk-worktree.ts";

const ROOT = "/root";

function removeTree(disk: Disk, path: string): void {
  if (disk.lstat(path)?.kind !== "dir") {
    disk.unlink(path);
    return;
  }
  for (const { name } of disk.list(path)) removeTree(disk, posix.join(path, name.toString()));
  disk.removeFolder(path);
}

function readAll(disk: Disk, path: string): Buffer {
  const fd = disk.open(path, "read");
  try {
    const bytes = Buffer.alloc(disk.fstat(fd).size);
    for (let at = 0; at < bytes.length;) at += disk.read(fd, bytes.subarray(at), at);
    return bytes;
  } finally {
    disk.close(fd);
  }
}

function rewrite(disk: Disk, path: string, content: string | Buffer, mode: number): void {
  const fd = disk.open(path, "update", mode);
  try {
    disk.truncate(fd, 0);
    const bytes = Buffer.from(content);
    for (let at = 0; at < bytes.length;) at += disk.write(fd, bytes.subarray(at), at);
    disk.chmod(fd, mode);
  } finally {
    disk.close(fd);
  }
}

function editorOf(disk: Disk): WorktreeEditor {
  const at = (path: string): string => `${ROOT}/${path}`;
  const listIn = (path: string): string[] =>
    disk.list(at(path)).flatMap(({ name, kind }) => {
      const inner = posix.join(path, name.toString());
      return kind === "dir" ? [inner, ...listIn(inner)] : [inner];
    });
  return {
    write: (path, content, mode = 0o644) => rewrite(disk, at(path), content, mode),
    makeFolder: (path, mode = 0o755) => disk.makeFolder(at(path), mode),
    symlink: (target, path) => disk.symlink(Buffer.from(target), at(path)),
    remove: (path) => removeTree(disk, at(path)),
    move: (from, to) => disk.rename(at(from), at(to)),
    chmod: (path, mode) => {
      const fd = disk.open(at(path), disk.lstat(at(path))?.kind === "dir" ? "folder" : "read");
      disk.chmod(fd, mode);
      disk.close(fd);
    },
    read: (path) => (disk.lstat(at(path))?.kind === "symlink" ? disk.readlink(at(path)) : readAll(disk, at(path))),
    stat: (path): FileStat | undefined => disk.lstat(at(path)),
    list: () => listIn("").sort(),
  };
}

worktreeSuite("DiskWorktree on a simulated disk", ({ filter, limits }: HarnessOptions): WorktreeHarness => {
  let ns = 1_700_000_000_000_000_000n;
  const clock = (): bigint => (ns += 1_000_000n);
  const disk = new SimDisk({ clock });
  disk.makeFolder(ROOT, 0o755);
  disk.makeFolder("/store", 0o700);
  const open = (): DiskWorktree =>
    new DiskWorktree({
      disk,
      roots: [{ id: undefined, folder: ROOT, filter, limits }],
      cacheFile: "/store/stat.cache",
      staging: "/store/staging",
      storeFolders: ["/store"],
      clock: () => Number(ns / 1_000_000n),
    });
  return {
    worktree: open(),
    edit: editorOf(disk),
    reopen: open,
    later: () => {
      ns += 5_000_000_000n;
    },
    dispose: () => {},
  };
});
