import { type EntryKind, SYMLINK_MODE } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { FileStat } from "../../disk/disk.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { comparePaths, isRoot, isWithin, nameOf, parentOf } from "../../core/values/path.ts";

/** One file, link or folder. `content` is the target of a link, and empty for a folder. */
export interface MemoryNode {
  readonly kind: EntryKind;
  readonly content: Buffer;
  readonly stat: FileStat;
}

/** Editable files in memory, with inodes and times like those of a disk. The folder of a root exists without a node. */
export class MemoryFiles {
  readonly #nodes = new Map<WorkspacePath, MemoryNode>();
  readonly #clock: () => number;
  readonly #watchers = new Set<(path: WorkspacePath) => void>();
  #lastNs = 0n;
  #lastIno = 1n;

  /** `clock`: milliseconds since the epoch. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /**
   * Writes a file, and makes the folders above it. An existing file keeps its inode. The default of `mode` is the mode
   * of the existing file, or 0644 for a new file.
   */
  write(path: WorkspacePath, content: string | Uint8Array, mode?: number): void {
    const old = this.#nodes.get(path);
    const bytes = typeof content === "string" ? Buffer.from(content) : Buffer.from(content);
    const kept = old?.kind === "file" ? old.stat.mode : 0o644;
    this.#put(path, {
      kind: "file",
      content: bytes,
      mode: mode ?? kept,
      ino: old?.kind === "file" ? old.stat.ino : undefined,
    });
  }

  /** Makes a folder and the folders above it. */
  makeFolder(path: WorkspacePath, mode = 0o755): void {
    this.#put(path, { kind: "dir", content: Buffer.alloc(0), mode, ino: undefined });
  }

  symlink(target: string | Uint8Array, path: WorkspacePath): void {
    this.#put(path, { kind: "symlink", content: Buffer.from(target), mode: SYMLINK_MODE, ino: undefined });
  }

  remove(path: WorkspacePath): void {
    if (this.#nodes.get(path)?.kind === "dir") for (const one of this.beneath(path)) this.#nodes.delete(one);
    this.#nodes.delete(path);
    this.#tell(path);
  }

  /** Renames a path with everything beneath it. Replaces any entry at the new path. */
  move(from: WorkspacePath, to: WorkspacePath): void {
    const moved = [from, ...this.beneath(from)].map((path) => [path, this.#nodes.get(path)] as const);
    this.remove(to);
    for (const [path, node] of moved) {
      if (node === undefined) continue;
      this.#nodes.delete(path);
      this.#nodes.set(`${to}${path.slice(from.length)}` as WorkspacePath, node);
    }
    this.#tell(from);
    this.#tell(to);
  }

  chmod(path: WorkspacePath, mode: number): void {
    const node = this.#nodes.get(path);
    if (node === undefined) throw new ChronicleError("NOT_FOUND", `nothing at ${JSON.stringify(path)}`);
    this.#nodes.set(path, { ...node, stat: { ...node.stat, mode, ctimeNs: this.#tick() } });
    this.#tell(path);
  }

  setMtime(path: WorkspacePath, mtimeNs: bigint): void {
    const node = this.#nodes.get(path);
    if (node === undefined) return;
    this.#nodes.set(path, {
      ...node,
      stat: { ...node.stat, mtimeNs, ctimeNs: this.#tick() },
    });
  }

  get(path: WorkspacePath): MemoryNode | undefined {
    return this.#nodes.get(path);
  }

  /**
   * Returns the content of a file or the target of a link. Returns an empty buffer for a folder, and `undefined` if the
   * path does not exist.
   */
  read(path: WorkspacePath): Buffer | undefined {
    return this.#nodes.get(path)?.content;
  }

  /** Returns all paths, in path order. */
  list(): WorkspacePath[] {
    return [...this.#nodes.keys()].sort(comparePaths);
  }

  /** Returns the paths beneath a folder, in path order. */
  beneath(folder: WorkspacePath): WorkspacePath[] {
    return [...this.#nodes.keys()].filter((path) => path !== folder && isWithin(path, folder)).sort(comparePaths);
  }

  /** Returns all nodes, for tests: `path` → content, `path@` → target of a link, `path/` → mode of a folder. */
  tree(): Record<string, string> {
    const shown: Record<string, string> = {};
    for (const path of this.list()) {
      const node = this.#nodes.get(path);
      if (node?.kind === "dir") shown[`${path}/`] = node.stat.mode.toString(8);
      else shown[node?.kind === "symlink" ? `${path}@` : path] = node?.content.toString() ?? "";
    }
    return shown;
  }

  /**
   * Calls `onChange` for each change. Does not report changes by `setMtime`, and does not report the paths beneath a
   * removed or moved folder.
   */
  watch(onChange: (path: WorkspacePath) => void): () => void {
    this.#watchers.add(onChange);
    return () => this.#watchers.delete(onChange);
  }

  #put(path: WorkspacePath, given: { kind: EntryKind; content: Buffer; mode: number; ino: bigint | undefined }): void {
    const folder = parentOf(path);
    if (folder !== "" && nameOf(path) !== "" && this.#nodes.get(folder)?.kind !== "dir" && !isRoot(folder)) {
      this.makeFolder(folder);
    }
    if (given.kind !== "dir" && this.#nodes.get(path)?.kind === "dir") {
      for (const inner of this.beneath(path)) this.#nodes.delete(inner);
    }
    const now = this.#tick();
    const ino = given.ino ?? (this.#lastIno += 1n);
    const { kind, content, mode } = given;
    const size = kind === "dir" ? 0 : content.length;
    const stat: FileStat = { kind, mode, size, mtimeNs: now, ctimeNs: now, ino, dev: 1n, nlink: 1, uid: 0 };
    this.#nodes.set(path, { kind, content, stat });
    this.#tell(path);
  }

  #tick(): bigint {
    const now = BigInt(Math.floor(this.#clock())) * 1_000_000n;
    this.#lastNs = now > this.#lastNs ? now : this.#lastNs + 1n;
    return this.#lastNs;
  }

  #tell(path: WorkspacePath): void {
    for (const watcher of this.#watchers) watcher(path);
  }
}
