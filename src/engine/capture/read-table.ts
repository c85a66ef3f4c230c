import { type Entry, type EntryKind, restOfTime } from "../../core/values/entry.ts";
import { hashFromBytes, hashToBytes } from "../../core/values/hash.ts";
import { comparePaths, type WorkspacePath } from "../../core/values/path.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { KnownPath } from "../../worktree/worktree.ts";

/** One path that was read, with the stat that belongs to its content. */
export interface ReadPath extends KnownPath {
  readonly unstable: boolean;
}

const KINDS: readonly EntryKind[] = ["file", "symlink", "dir"];
const FIRST_ROWS = 256;

/**
 * The entries that a capture has read, stored in columns. As objects, the entries of a baseline of 200,000 paths would
 * take five times the memory. A row becomes an object only when a caller asks for it.
 */
export class ReadTable {
  readonly #paths: WorkspacePath[] = [];
  #hashes = Buffer.alloc(FIRST_ROWS * 32);
  /** For each row: kind, unstable, has a hash. */
  #flags = new Uint8Array(FIRST_ROWS * 3);
  /** For each row: mode of the entry, mode of the stat, nlink, uid. */
  #numbers = new Uint32Array(FIRST_ROWS * 4);
  /** For each row: size of the entry, the two numbers of its time, size of the stat. */
  #sizes = new Float64Array(FIRST_ROWS * 4);
  /** For each row: mtime_ns, ctime_ns, inode, device. */
  #stats = new BigInt64Array(FIRST_ROWS * 4);
  #rows: Map<WorkspacePath, number> | undefined;
  #isSettled = true;

  /** True if no path is unstable, so that the next scan may trust all of them. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  get size(): number {
    return this.#paths.length;
  }

  /** All paths, in the order in which they were read. */
  get paths(): readonly WorkspacePath[] {
    return this.#paths;
  }

  /** Adds a row. The caller must add each path only once. */
  push({ entry, stat, unstable }: ReadPath): void {
    const row = this.#paths.length;
    if (row * 3 === this.#flags.length) this.#grow();
    if (unstable) this.#isSettled = false;
    this.#paths.push(entry.path);
    this.#flags.set([KINDS.indexOf(entry.kind), unstable ? 1 : 0, entry.hash === undefined ? 0 : 1], row * 3);
    this.#numbers.set([entry.mode, stat.mode, stat.nlink, stat.uid], row * 4);
    this.#sizes.set([entry.size, entry.mtimeMs, entry.mtimeRestNs ?? 0, stat.size], row * 4);
    this.#stats.set([stat.mtimeNs, stat.ctimeNs, BigInt.asIntN(64, stat.ino), BigInt.asIntN(64, stat.dev)], row * 4);
    if (entry.hash !== undefined) this.#hashes.set(hashToBytes(entry.hash), row * 32);
    this.#rows = undefined;
  }

  has(path: WorkspacePath): boolean {
    return this.#rowOf(path) !== undefined;
  }

  entryOf(path: WorkspacePath): Entry | undefined {
    const row = this.#rowOf(path);
    return row === undefined ? undefined : this.entryAt(row);
  }

  /** Yields all rows, in path order. */
  *sortedValues(): Generator<ReadPath> {
    for (const row of this.sortedRows()) yield this.#at(row);
  }

  sortedRows(): Uint32Array {
    const rows = Uint32Array.from(this.#paths.keys());
    return rows.sort((a, b) => comparePaths(this.#paths[a] ?? "", this.#paths[b] ?? ""));
  }

  entryAt(row: number): Entry {
    const hasHash = this.#flags[row * 3 + 2] === 1;
    return {
      path: this.#paths[row] ?? ("" as WorkspacePath),
      kind: KINDS[this.#flags[row * 3] ?? 0] ?? "file",
      mode: this.#numbers[row * 4] ?? 0,
      size: this.#sizes[row * 4] ?? 0,
      mtimeMs: this.#sizes[row * 4 + 1] ?? 0,
      mtimeRestNs: restOfTime(this.#sizes[row * 4 + 2] ?? 0),
      hash: hasHash ? hashFromBytes(this.#hashes.subarray(row * 32, row * 32 + 32)) : undefined,
    };
  }

  #at(row: number): ReadPath {
    const entry = this.entryAt(row);
    const stat: FileStat = {
      kind: entry.kind,
      mode: this.#numbers[row * 4 + 1] ?? 0,
      size: this.#sizes[row * 4 + 3] ?? 0,
      mtimeNs: this.#stats[row * 4] ?? 0n,
      ctimeNs: this.#stats[row * 4 + 1] ?? 0n,
      ino: BigInt.asUintN(64, this.#stats[row * 4 + 2] ?? 0n),
      dev: BigInt.asUintN(64, this.#stats[row * 4 + 3] ?? 0n),
      nlink: this.#numbers[row * 4 + 2] ?? 0,
      uid: this.#numbers[row * 4 + 3] ?? 0,
    };
    return { entry, stat, unstable: this.#flags[row * 3 + 1] === 1 };
  }

  #rowOf(path: WorkspacePath): number | undefined {
    this.#rows ??= new Map(this.#paths.map((one, row) => [one, row]));
    return this.#rows.get(path);
  }

  #grow(): void {
    const rows = this.#paths.length * 2;
    this.#hashes = Buffer.concat([this.#hashes], rows * 32);
    this.#flags = grown(this.#flags, new Uint8Array(rows * 3));
    this.#numbers = grown(this.#numbers, new Uint32Array(rows * 4));
    this.#sizes = grown(this.#sizes, new Float64Array(rows * 4));
    const stats = new BigInt64Array(rows * 4);
    stats.set(this.#stats);
    this.#stats = stats;
  }
}

function grown<T extends Uint8Array | Uint32Array | Float64Array>(old: T, larger: T): T {
  larger.set(old);
  return larger;
}
