import type { WorkspacePath } from "../../core/values/path.ts";

/** Options that say how long paths are waited for. */
export interface QuietPathsOptions {
  /** The time without a hint after which a path is quiet, in milliseconds. */
  readonly quietMs: number;
  /** A path that never becomes quiet is given out so long after the first hint at it, in milliseconds. */
  readonly mostMs: number;
  readonly timers: { after(ms: number, run: () => void): Disposable };
  /**
   * Called with the paths that are quiet now, or, if `isLate`, were waited for long enough; `undefined`: everything.
   */
  readonly onQuiet: (paths: ReadonlySet<WorkspacePath> | undefined, isLate: boolean) => void;
}

/**
 * The least time for which a path that is written again and again is waited for, in milliseconds: most files are written in
 * less, and a log that grows for ever is still taken so often.
 */
const LEAST_MOST_MS = 5_000;
/** The longest wait as a multiple of the time for which a path must have been quiet. */
const MOST_DELAYS = 20;

/** Returns the longest wait for a path that never becomes quiet, in milliseconds. */
export function longestWaitMs(quietMs: number): number {
  return Math.max(LEAST_MOST_MS, quietMs * MOST_DELAYS);
}

/** Paths with a timer in common. */
interface Group {
  readonly paths: Set<WorkspacePath>;
  readonly timer: Disposable;
}

/** `isAll`: of everything; `isLate`: its timer ends the waiting, whatever happens. */
interface GroupKind {
  readonly isAll: boolean;
  readonly isLate: boolean;
}

/** The groups that a path is waited for in: until it is quiet, and at most. */
interface Waiting {
  quiet: Group;
  readonly most: Group;
}

/** Stands for all paths where it is not known which ones were changed. */
const EVERYTHING = "" as WorkspacePath;

/**
 * Holds paths back while they are being written. A file is scanned once it was quiet for a moment: earlier it is half
 * of what its writer means it to be. A file that is never quiet is scanned after a while all the same.
 */
export class QuietPaths {
  readonly #options: QuietPathsOptions;
  readonly #waiting = new Map<WorkspacePath, Waiting>();
  #everything: Waiting | undefined;

  constructor(options: QuietPathsOptions) {
    this.#options = options;
  }

  /** Something was changed at these paths; `undefined`: anywhere. */
  hint(paths: readonly WorkspacePath[] | undefined): void {
    const { quietMs, mostMs } = this.#options;
    const named = paths ?? [EVERYTHING];
    if (named.length === 0) return;
    const isAll = paths === undefined;
    const quiet = this.#group(quietMs, { isAll, isLate: false });
    let most: Group | undefined;
    for (const path of named) {
      const known = isAll ? this.#everything : this.#waiting.get(path);
      if (known !== undefined) leave(known.quiet, path);
      const waiting = known ?? { quiet, most: (most ??= this.#group(mostMs, { isAll, isLate: true })) };
      waiting.quiet = quiet;
      quiet.paths.add(path);
      waiting.most.paths.add(path);
      if (isAll) this.#everything = waiting;
      else this.#waiting.set(path, waiting);
    }
  }

  /** True if the path is being waited for. */
  holds(path: WorkspacePath): boolean {
    return this.#waiting.has(path);
  }

  /** Waits for nothing any more. The paths that it was waiting for; `isAll`: everything as well. */
  clear(): { readonly paths: readonly WorkspacePath[]; readonly isAll: boolean } {
    const held = { paths: [...this.#waiting.keys()], isAll: this.#everything !== undefined };
    for (const [path, waiting] of this.#waiting) forget(waiting, path);
    if (this.#everything !== undefined) forget(this.#everything, EVERYTHING);
    this.#waiting.clear();
    this.#everything = undefined;
    return held;
  }

  #group(ms: number, how: GroupKind): Group {
    const paths = new Set<WorkspacePath>();
    return { paths, timer: this.#options.timers.after(ms, () => this.#ripe(paths, how)) };
  }

  #ripe(paths: ReadonlySet<WorkspacePath>, { isAll, isLate }: GroupKind): void {
    const ripe = new Set(paths);
    if (isAll) {
      if (this.#everything !== undefined) forget(this.#everything, EVERYTHING);
      this.#everything = undefined;
    } else {
      for (const path of ripe) {
        const waiting = this.#waiting.get(path);
        this.#waiting.delete(path);
        if (waiting !== undefined) forget(waiting, path);
      }
    }
    if (ripe.size > 0) this.#options.onQuiet(isAll ? undefined : ripe, isLate);
  }
}

function forget({ quiet, most }: Waiting, path: WorkspacePath): void {
  leave(quiet, path);
  leave(most, path);
}

function leave({ paths, timer }: Group, path: WorkspacePath): void {
  paths.delete(path);
  if (paths.size === 0) timer[Symbol.dispose]();
}
