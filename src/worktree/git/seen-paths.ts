import type { WorkspacePath } from "../../core/values/path.ts";
import type { FileStat, FolderItem } from "../../disk/disk.ts";
import { ConfinedFs, type OpenedFile } from "../files/confined-fs.ts";
import { isRacy, isSameStat } from "../files/same-stat.ts";

/** Looks at paths, without following a link at the end of a path. */
export interface Looks {
  /** Returns the stat of a path; `undefined` if the path does not exist, or its stat cannot be read. */
  peek(path: string): FileStat | undefined;
  /** Returns a path with its links resolved; `undefined` if it cannot be resolved. */
  real(path: string): string | undefined;
}

/**
 * How a path is compared. `exact`: by its whole stat, and for a folder therefore also by the names in it. `identity`:
 * a folder by the facts that tell which folder it is, and by its mode and owner; anything else by its whole stat.
 * `own`: like `exact`, but the file is Chronicle's own, and is only ever replaced by a new file. So its stat shows every
 * change, however soon the change follows.
 */
type Comparison = "exact" | "identity" | "own";

interface Seen {
  readonly stat: FileStat | undefined;
  readonly by: Comparison;
}

/**
 * The paths that some reading has looked at, with their stats. If none of these paths has changed, the same reading
 * would have the same result.
 *
 * A reading must note the stat of a path before it reads the path. If a path is noted twice, the first stat counts. So
 * a change during the reading shows in the next comparison.
 */
export class SeenPaths {
  /** The time at which the reading began, in nanoseconds since the epoch. */
  readonly #fromNs: bigint;
  readonly #stats = new Map<string, Seen>();
  readonly #real = new Map<string, string | undefined>();

  constructor(fromNs: bigint) {
    this.#fromNs = fromNs;
  }

  /** Notes the stat of a path. If the path was noted before, only the stricter comparison is noted. */
  note(path: string, stat: FileStat | undefined, by: Comparison = "exact"): void {
    const known = this.#stats.get(path);
    if (known === undefined) this.#stats.set(path, { stat, by });
    else if (known.by === "identity") this.#stats.set(path, { stat: known.stat, by });
  }

  noteReal(path: string, real: string | undefined): void {
    if (!this.#real.has(path)) this.#real.set(path, real);
  }

  /**
   * Ends the noting. Returns false if a path may have changed after the reading without a change of its stat. The result
   * of such a reading must not be used again. Drops absent paths whose folder was noted with its names.
   */
  settle(): boolean {
    for (const [path, { stat, by }] of this.#stats) {
      if (stat !== undefined && isByTimes(stat, by) && isRacy(stat, this.#fromNs)) return false;
      if (stat !== undefined) continue;
      const above = this.#stats.get(path.slice(0, path.lastIndexOf("/")));
      if (above?.by === "exact" && above.stat?.kind === "dir") this.#stats.delete(path);
    }
    return true;
  }

  /** True if none of the paths has changed since the reading. */
  areStill(looks: Looks): boolean {
    for (const [path, seen] of this.#stats) if (!isStill(seen, looks.peek(path))) return false;
    for (const [path, real] of this.#real) if (looks.real(path) !== real) return false;
    return true;
  }
}

function isByTimes(stat: FileStat, by: Comparison): boolean {
  return by === "exact" || (by === "identity" && stat.kind !== "dir");
}

function isStill({ stat, by }: Seen, now: FileStat | undefined): boolean {
  if (stat === undefined || now === undefined) return stat === now;
  return by === "identity" ? isSameUnlisted(stat, now) : isSameStat(stat, now);
}

/**
 * True if two stats show no change, apart from the times of a folder. These times change with each name that is made in
 * the folder. The names that matter have stats of their own.
 */
export function isSameUnlisted(a: FileStat, b: FileStat): boolean {
  if (a.kind !== "dir" || b.kind !== "dir") return isSameStat(a, b);
  return a.ino === b.ino && a.dev === b.dev && a.mode === b.mode && a.uid === b.uid;
}

/** Notes all paths that readings look at. Several readings can be noted at the same time. */
export class NotingFs extends ConfinedFs {
  readonly #readings = new Set<SeenPaths>();

  /** Notes all paths in `seen` until the returned function is called. */
  noteIn(seen: SeenPaths): () => void {
    this.#readings.add(seen);
    return () => this.#readings.delete(seen);
  }

  /** Runs `work`, and notes nothing of what it looks at. */
  unnoted<T>(work: () => T): T {
    const readings = [...this.#readings];
    this.#readings.clear();
    try {
      return work();
    } finally {
      for (const seen of readings) this.#readings.add(seen);
    }
  }

  #noted(path: WorkspacePath, stat: FileStat | undefined): FileStat | undefined {
    const absolute = path === "" ? this.root : `${this.root}/${path}`;
    for (const seen of this.#readings) seen.note(absolute, stat);
    return stat;
  }

  override lstat(path: WorkspacePath): FileStat | undefined {
    return this.#noted(path, super.lstat(path));
  }

  override peek(path: WorkspacePath): FileStat | undefined {
    return this.#noted(path, super.peek(path));
  }

  override list(folder: WorkspacePath): FolderItem[] {
    if (this.#readings.size > 0) this.lstat(folder);
    return super.list(folder);
  }

  override openRead(path: WorkspacePath): OpenedFile {
    if (this.#readings.size > 0) this.lstat(path);
    return super.openRead(path);
  }

  override readlink(path: WorkspacePath): Buffer {
    if (this.#readings.size > 0) this.lstat(path);
    return super.readlink(path);
  }
}
