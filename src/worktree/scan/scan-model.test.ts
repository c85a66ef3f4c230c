import { expect, test } from "vitest";
import type { Entry } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { FileStat } from "../../disk/disk.ts";
import { DEFAULT_FILTER } from "../../core/filter/filter.ts";
import { childOf, parentOf, parsePath, ROOT } from "../../core/values/path.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { ConfinedFs } from "../files/confined-fs.ts";
import { DiskWorktree } from "../disk/disk-worktree.ts";
import { inspectPath } from "../files/inspect.ts";
import { removeTree } from "../files/remove-staged.ts";

/**
 * Makes random edits under a clock so coarse that most of them get the same times, with captures in between. After each
 * capture, the known state must be the state on disk. An ignored name is tracked only if it was tracked before the rule
 * was made.
 */
class Walk {
  #seed: number;
  #ns = 1_700_000_000_000_000_000n;
  readonly disk: SimDisk;
  worktree: DiskWorktree;
  readonly state = new Map<WorkspacePath, Entry>();
  readonly log: string[] = [];

  constructor(seed: number) {
    this.#seed = seed;
    this.disk = SimDisk.fromTree(
      { "/store": { folder: 0o700 }, "/base": { folder: 0o755 } },
      { clock: () => this.#ns },
    );
    this.worktree = this.#open();
  }

  #open(): DiskWorktree {
    const limits = { maxEntries: 0, maxBytes: 0, maxFileSize: 0 };
    return new DiskWorktree({
      disk: this.disk,
      roots: [{ id: undefined, folder: "/base", filter: DEFAULT_FILTER, limits }],
      cacheFile: "/store/stat.cache",
      staging: undefined,
      storeFolders: ["/store"],
      clock: () => Number(this.#ns / 1_000_000n),
    });
  }

  random(n: number): number {
    this.#seed = (Math.imul(this.#seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#seed / 2 ** 32) * n);
  }

  #path(): WorkspacePath {
    const depth = 1 + this.random(3);
    return parsePath(Array.from({ length: depth }, () => ["a", "b", "c", "skip"][this.random(4)]).join("/"));
  }

  edit(): void {
    using fs = new ConfinedFs(this.disk, "/base");
    const path = this.#path();
    const there = fs.lstat(path)?.kind;
    const action = this.random(7);
    this.log.push(`${action} ${path} (${there ?? "nothing"})`);
    if (parentOf(path) !== ROOT && fs.lstat(parentOf(path))?.kind !== "dir") return;
    if (action <= 2) this.#write(fs, path, there);
    else if (action === 3 && there === undefined) fs.makeFolder(path, 0o755);
    else if (action === 4 && there !== undefined) removeTree(fs, path);
    else if (action === 5 && (there === "file" || there === "dir")) fs.chmod(path, 0o700 + this.random(64), there);
    else if (action === 6) this.#more(fs, path, there);
  }

  #write(fs: ConfinedFs, path: WorkspacePath, there: FileStat["kind"] | undefined): void {
    // The size stays the same, so a capture can notice the edit only by the times or by reading the file again.
    const content = Buffer.from(String(this.random(10)));
    if (there === undefined) {
      using file = fs.create(path, 0o644);
      fs.write(file, content);
    } else if (there === "file") {
      const fd = this.disk.open(`/base/${path}`, "update");
      this.disk.write(fd, content, 0);
      this.disk.close(fd);
    }
  }

  #more(fs: ConfinedFs, path: WorkspacePath, there: FileStat["kind"] | undefined): void {
    const other = this.#path();
    const free =
      fs.lstat(other) === undefined && (parentOf(other) === ROOT || fs.lstat(parentOf(other))?.kind === "dir");
    if (there === undefined) fs.symlink(Buffer.from(`t${this.random(3)}`), path);
    else if (free && !`${other}/`.startsWith(`${path}/`)) fs.rename(path, other);
    else if (this.random(4) === 0) this.#rule(fs);
  }

  #rule(fs: ConfinedFs): void {
    const rules = parsePath(".gitignore");
    if (fs.lstat(rules) !== undefined) fs.unlink(rules);
    if (this.random(2) === 0) return;
    using file = fs.create(rules, 0o644);
    fs.write(file, Buffer.from("skip\n"));
  }

  /** Advances the clock by 0 to 5 seconds. */
  wait(): void {
    this.#ns += [0n, 0n, 1_000_000n, 1_900_000_000n, 5_000_000_000n][this.random(5)] ?? 0n;
  }

  /** Scans without remembering the result, like a failed capture. The next capture must find the same changes again. */
  async glance(): Promise<void> {
    await this.worktree.scan({}, () => {});
  }

  /** Captures. Returns what is known afterwards, and what is on disk. */
  async capture(): Promise<{ readonly known: object; readonly truth: object }> {
    const found: { path: WorkspacePath; stat: FileStat }[] = [];
    const report = await this.worktree.scan({}, (batch) => void found.push(...batch));
    for (const path of report.gone) this.state.delete(path);
    for (const { path, stat } of found) {
      const entry = await this.worktree.inspect(path);
      if (entry === undefined) throw new Error(`${path} is not there`);
      this.state.set(path, entry);
      this.worktree.remember([{ entry, stat }]);
    }
    this.worktree.forget(report.gone);
    return this.#compare(report.entries);
  }

  /** Saves the cache and opens it anew, as another process would. */
  async reopen(): Promise<void> {
    await this.worktree.save(1);
    await this.worktree.close();
    this.worktree = this.#open();
  }

  #compare(entries: number): { readonly known: object; readonly truth: object } {
    using fs = new ConfinedFs(this.disk, "/base");
    const ignored = fs.lstat(parsePath(".gitignore")) !== undefined;
    const truth = new Map<WorkspacePath, string>();
    const visit = (folder: WorkspacePath): void => {
      for (const { name } of fs.list(folder)) {
        const path = childOf(folder, name.toString());
        const isNew = !this.state.has(path);
        if (ignored && isNew && path.split("/").includes("skip")) continue;
        const found = inspectPath(fs, path, path)?.entry;
        truth.set(path, `${found?.kind} ${found?.mode} ${found?.hash}`);
        if (found?.kind === "dir") visit(path);
      }
    };
    visit(ROOT);
    const known = [...this.state].map(([path, one]) => [path, `${one.kind} ${one.mode} ${one.hash}`] as const);
    return {
      known: { entries, ...Object.fromEntries(known) },
      truth: { entries: this.state.size, ...Object.fromEntries(truth) },
    };
  }
}

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  "random edits, seed %i: after each capture, the known state is the state on disk",
  async (seed) => {
    const walk = new Walk(seed);
    for (let round = 0; round < 150; round += 1) {
      for (let n = walk.random(6); n > 0; n -= 1) {
        walk.edit();
        if (walk.random(3) === 0) walk.wait();
      }
      if (walk.random(2) === 0) walk.wait();
      if (walk.random(4) === 0) await walk.glance();
      const { known, truth } = await walk.capture();
      expect({ known, last: walk.log.slice(-12) }).toEqual({ known: truth, last: walk.log.slice(-12) });
      if (walk.random(8) === 0) await walk.reopen();
    }
    expect(walk.disk.openDescriptors).toBe(0);
  },
);
