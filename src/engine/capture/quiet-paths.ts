import type { WorkspacePath } from "../../core/values/path.ts";
import type { Timers } from "../../util/timers.ts";

interface QuietPathsOptions {
  /** The time, in milliseconds, after which a path without a further hint of the watcher counts as quiet. */
  readonly quietMs: number;
  /**
   * The longest wait, in milliseconds, after the first hint for a path. After this wait, a path that never becomes
   * quiet is reported nevertheless.
   */
  readonly mostMs: number;
  readonly timers: Timers;
  /**
   * Called with paths that are now quiet. If `isLate` is true, the paths are not quiet, but their longest wait is over.
   * If `paths` is `undefined`, all paths are meant.
   */
  readonly onQuiet: (paths: ReadonlySet<WorkspacePath> | undefined, isLate: boolean) => void;
}

/**
 * The minimum of the longest wait, in milliseconds. Most files are written in less time. A log file that grows for ever
 * is captured each time its longest wait is over.
 */
const LEAST_MOST_MS = 5_000;

/** The longest wait, as a multiple of the time after which a path counts as quiet. */
const MOST_DELAYS = 20;

export function longestWaitMs(quietMs: number): number {
  return Math.max(LEAST_MOST_MS, quietMs * MOST_DELAYS);
}

interface Group {
  readonly paths: Set<WorkspacePath>;
  readonly timer: Disposable;
}

/** `isAll` is true if the group stands for all paths. `isLate` is true if the group's timer ends the longest wait. */
interface GroupKind {
  readonly isAll: boolean;
  readonly isLate: boolean;
}

/**
 * The two groups that a waiting path belongs to. The timer of `quiet` runs until the path is quiet, and the timer of
 * `most` runs until the longest wait is over.
 */
interface Waiting {
  quiet: Group;
  readonly most: Group;
}

/** The path that stands for all paths, if it is unknown which paths have changed. */
const EVERYTHING = "" as WorkspacePath;

/**
 * Holds paths back while they are being written. A file is scanned only once it has been quiet for `quietMs`, because
 * an earlier scan might find it half written. A file that is never quiet is scanned after the longest wait.
 */
export class QuietPaths {
  readonly #options: QuietPathsOptions;
  readonly #waiting = new Map<WorkspacePath, Waiting>();
  #everything: Waiting | undefined;

  constructor(options: QuietPathsOptions) {
    this.#options = options;
  }

  /** Notes that these paths have changed. If `paths` is `undefined`, any path may have changed. */
  hint(paths: readonly WorkspacePath[] | undefined): void {
    const { quietMs, mostMs } = this.#options;
    const named = new Set(paths ?? [EVERYTHING]);
    if (named.size === 0) return;
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

  holds(path: WorkspacePath): boolean {
    return this.#waiting.has(path);
  }

  /** Stops waiting. Returns the paths that were waiting. `isAll`: true if all paths together were waiting as well. */
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
