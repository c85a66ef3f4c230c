import type { Disk, DiskPath, FileStat } from "../../disk/disk.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { sha256Bytes } from "../../core/values/hash.ts";
import { parseGitIndex, UnusableIndex, type GitIndex } from "../../core/filter/git-index.ts";
import { decodeName, pathToBytes } from "../../core/values/path.ts";
import { readFully } from "../../disk/write-fully.ts";
import { RecentMap } from "../../util/recent-map.ts";
import { isRacy, isSameStat } from "../files/same-stat.ts";
import { isSameUnlisted, SeenPaths } from "./seen-paths.ts";

/** The maximum size, in bytes, of an index that is read. 256 MiB hold about two million paths. */
const MOST_INDEX_BYTES = 256 * 1024 ** 2;

/** The text of a configuration or an ignore file, or the reason why the file is not used. */
export type GitText = { readonly text: string } | { readonly problem: string };

/** An index, and the digest of the paths in it (SHA-256 in hex). */
export interface NamedIndex {
  readonly index: GitIndex;
  readonly digest: string;
}

interface Known<T> {
  readonly stat: FileStat;
  readonly racy: boolean;
  readonly value: T;
}

/**
 * A path that the last full scan asked for. `stat`: the stat at that time. `read`: present for an index, with the
 * digest of its paths.
 */
interface Seen {
  readonly path: string;
  readonly stat: FileStat | undefined;
  readonly read?: { readonly hashBytes: 20 | 32; readonly digest: string };
}

/** The number of results of readings that are remembered. */
const MOST_RESULTS = 10_000;

/**
 * Reads the files that determine git's rules: configurations, ignore files and indexes. Some of these files lie outside
 * of the workspace, and some of them can be written by an agent. Therefore every read is bounded, only regular files
 * are read, and git is never run. Results are cached by stat.
 */
export class GitFiles {
  readonly #disk: Disk;
  readonly #clock: () => number;
  readonly #texts = new Map<string, Known<GitText>>();
  readonly #indexes = new Map<string, Known<NamedIndex | { readonly problem: string }>>();
  readonly #seen = new Map<string, Seen>();
  readonly #results = new RecentMap<string, { readonly seen: SeenPaths; readonly value: unknown }>(MOST_RESULTS);
  /** The readings that are running (see `remembered`). */
  readonly #readings = new Set<SeenPaths>();
  #isNoting = false;
  /** Maps each path that was looked at since `atOnce` began to its stat, and to the path with links resolved. */
  #found:
    | { readonly stats: Map<string, FileStat | undefined>; readonly real: Map<string, string | undefined> }
    | undefined;

  /** `clock`: milliseconds since the epoch, by the clock that sets file times. */
  constructor(disk: Disk, clock: () => number) {
    this.#disk = disk;
    this.#clock = clock;
  }

  /**
   * Must be called at the beginning of a full scan. Until `noted` is called, each path that is asked for is noted.
   * `moved` checks the noted paths later.
   */
  note(): void {
    this.#seen.clear();
    this.#isNoting = true;
  }

  noted(): void {
    this.#isNoting = false;
  }

  /**
   * True if a path that the last full scan asked for has changed since that scan. An index counts as changed only if
   * the paths in the index have changed. False before the first full scan.
   */
  moved(): boolean {
    return [...this.#seen.values()].some((seen) => this.#hasMoved(seen));
  }

  #hasMoved(seen: Seen): boolean {
    const now = this.#stat(seen.path);
    if (isSame(now, seen.stat)) return false;
    if (now === undefined || seen.read === undefined) return true;
    // Git also rewrites its index to refresh the stats in it, so only a change of the paths counts.
    const { hashBytes, digest } = seen.read;
    const found = this.index(seen.path, hashBytes);
    if (found === undefined || !("digest" in found) || found.digest !== digest) return true;
    this.#seen.set(seen.path, { ...seen, stat: now });
    return false;
  }

  /** Like `stat`, but does not note the path for `moved`. */
  peek(path: string): FileStat | undefined {
    return this.#stat(path);
  }

  /**
   * Returns the stat of a path without following a link; `undefined` if the path does not exist, or the stat cannot be
   * read.
   */
  stat(path: string): FileStat | undefined {
    const stat = this.#stat(path);
    if (this.#isNoting) this.#seen.set(path, { path, stat });
    for (const seen of this.#readings) seen.note(path, stat, "identity");
    return stat;
  }

  /**
   * Returns the result of `work`. Remembers it under a key, and runs `work` again only if a path that `work` asked for
   * has changed. The result must depend on nothing else.
   */
  remembered<T>(key: string, work: () => T): T {
    return this.atOnce(() => {
      const known = this.#results.get(key);
      const looks = { peek: (path: string) => this.stat(path), real: (path: string) => this.real(path) };
      if (known?.seen.areStill(looks) === true) return known.value as T;
      const seen = new SeenPaths(this.#nowNs());
      this.#readings.add(seen);
      try {
        const value = work();
        if (seen.settle()) this.#results.put(key, { seen, value });
        else this.#results.delete(key);
        return value;
      } finally {
        this.#readings.delete(seen);
      }
    });
  }

  #stat(path: string): FileStat | undefined {
    return once(this.#found?.stats, path, () => {
      try {
        return this.#disk.lstat(addressOf(path));
      } catch (error) {
        if (errnoOf(error) === undefined) throw error;
        return undefined;
      }
    });
  }

  /**
   * Runs a function that looks at many repositories. Until `work` returns, each path is looked at only once. This saves
   * work, because all repositories share the user's settings.
   */
  atOnce<T>(work: () => T): T {
    if (this.#found !== undefined) return work();
    this.#found = { stats: new Map(), real: new Map() };
    try {
      return work();
    } finally {
      this.#found = undefined;
    }
  }

  /**
   * Returns the path with its links resolved; `undefined` if it cannot be resolved. A path that is not UTF-8 is
   * returned unchanged.
   */
  real(path: string): string | undefined {
    if (!path.isWellFormed()) return path;
    const real = once(this.#found?.real, path, () => {
      try {
        return this.#disk.realpath(path);
      } catch (error) {
        if (errnoOf(error) === undefined) throw error;
        return undefined;
      }
    });
    for (const seen of this.#readings) seen.noteReal(path, real);
    return real;
  }

  /**
   * Returns the text of a file, or the reason why it is not used; `undefined` if there is no file. A file of more than
   * `mostBytes` is not used. Bytes that are not UTF-8 become lone surrogates.
   */
  text(path: string, mostBytes: number): GitText | undefined {
    const stat = this.stat(path);
    if (stat === undefined) return undefined;
    const known = this.#texts.get(path);
    if (known !== undefined && !known.racy && isSameStat(known.stat, stat)) return known.value;
    const value = this.#readText(path, stat, mostBytes);
    this.#texts.set(path, { stat, racy: isRacy(stat, this.#nowNs()), value });
    return value;
  }

  #readText(path: string, stat: FileStat, mostBytes: number): GitText {
    if (stat.kind === "symlink") return { problem: "a link is not followed here" };
    const read = this.#read(path, stat, mostBytes);
    return "problem" in read ? read : { text: decodeName(read.bytes) };
  }

  /** Returns the paths of an index, or the reason why it is not used; `undefined` if there is no index. */
  index(path: string, hashBytes: 20 | 32): NamedIndex | { readonly problem: string } | undefined {
    const stat = this.stat(path);
    if (stat === undefined) return undefined;
    const known = this.#indexes.get(path);
    // Git replaces the index by a new file with another inode, so the stat shows every change, even right after the
    // read.
    const found =
      known !== undefined && isSameStat(known.stat, stat) ? known.value : this.#readIndex(path, stat, hashBytes);
    this.#indexes.set(path, { stat, racy: false, value: found });
    this.noteDigest(path, hashBytes, "digest" in found ? found.digest : "");
    return found;
  }

  /** Notes the digest of an index for `moved`, if the running full scan has asked for the stat of the index. */
  noteDigest(path: string, hashBytes: 20 | 32, digest: string): void {
    const seen = this.#seen.get(path);
    if (this.#isNoting && seen !== undefined) this.#seen.set(path, { ...seen, read: { hashBytes, digest } });
  }

  #readIndex(path: string, stat: FileStat, hashBytes: 20 | 32): NamedIndex | { readonly problem: string } {
    const read = this.#read(path, stat, MOST_INDEX_BYTES);
    if ("problem" in read) return read;
    try {
      const index = parseGitIndex(read.bytes, hashBytes);
      return { index, digest: sha256Bytes(index.names).toString("hex") };
    } catch (error) {
      if (error instanceof UnusableIndex) return { problem: error.message };
      throw error;
    }
  }

  #read(path: string, seen: FileStat, mostBytes: number): { readonly bytes: Buffer } | { readonly problem: string } {
    if (seen.kind !== "file") return { problem: "it is no regular file" };
    if (seen.size > mostBytes) return { problem: `larger than ${mostBytes} bytes` };
    try {
      const fd = this.#disk.open(addressOf(path), "read");
      try {
        const stat = this.#disk.fstat(fd);
        if (stat.kind !== "file") return { problem: "it is no regular file" };
        const bytes = Buffer.alloc(Math.min(stat.size, mostBytes));
        return { bytes: bytes.subarray(0, readFully(this.#disk, fd, bytes, 0)) };
      } finally {
        this.#disk.close(fd);
      }
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === undefined) throw error;
      return { problem: `it cannot be read (${errno})` };
    }
  }

  #nowNs(): bigint {
    return BigInt(Math.floor(this.#clock())) * 1_000_000n;
  }
}

/** True if two stats show no change, apart from the times of a folder. */
function isSame(a: FileStat | undefined, b: FileStat | undefined): boolean {
  return a === undefined || b === undefined ? a === b : isSameUnlisted(a, b);
}

/**
 * Returns the value of a path from `known`. If the path is not in `known`, gets the value from `find` and adds it to
 * `known`.
 */
function once<T>(known: Map<string, T> | undefined, path: string, find: () => T): T {
  if (known?.has(path) === true) return known.get(path) as T;
  const value = find();
  known?.set(path, value);
  return value;
}

function addressOf(path: string): DiskPath {
  return path.isWellFormed() ? path : pathToBytes(path);
}
