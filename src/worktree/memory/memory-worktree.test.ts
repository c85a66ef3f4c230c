import type { WorkspacePath } from "../../core/values/path.ts";
import type { HarnessOptions, WorktreeHarness } from "../../testing/worktree-harness.ts";
import { type KeptMemory, MemoryWorktree } from "./memory-worktree.ts";
import { worktreeSuite } from "../../testing/worktree-suite.ts";
import { MemoryFiles } from "./memory-files.ts";

const at = (path: string): WorkspacePath => path as WorkspacePath;

worktreeSuite("MemoryWorktree", ({ filter, limits }: HarnessOptions): WorktreeHarness => {
  let now = 1_700_000_000_000;
  const clock = (): number => (now += 1);
  const files = new MemoryFiles(clock);
  const kept: KeptMemory = { known: undefined, seq: undefined };
  const roots = [{ id: undefined, folder: "/memory", filter, limits }];
  const open = (): MemoryWorktree => new MemoryWorktree({ clock, roots, files, kept });
  return {
    worktree: open(),
    edit: {
      write: (path, content, mode = 0o644) => files.write(at(path), content, mode),
      makeFolder: (path, mode) => files.makeFolder(at(path), mode),
      symlink: (target, path) => files.symlink(target, at(path)),
      remove: (path) => files.remove(at(path)),
      move: (from, to) => files.move(at(from), at(to)),
      chmod: (path, mode) => files.chmod(at(path), mode),
      read: (path) => files.read(at(path)) ?? Buffer.alloc(0),
      stat: (path) => files.get(at(path))?.stat,
      list: () => files.list().sort(),
    },
    reopen: open,
    later: () => {
      now += 5000;
    },
    dispose: () => {},
  };
});
