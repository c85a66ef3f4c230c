import type { Change } from "../../../core/values/entry.ts";
import type { WorkspacePath } from "../../../core/values/path.ts";
import type { Worktree } from "../../../worktree/worktree.ts";
import type { Timers } from "../../../util/timers.ts";

export interface ObstaclesOptions {
  readonly worktree: Pick<Worktree, "check" | "explain">;
  readonly timers: Timers;
  /** Returns the present time, in epoch milliseconds. */
  readonly now: () => number;
  /** Waits until no other work of the sync runs, and then runs `work`. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** The changes that could not be written and wait to be retried. */
  readonly blocked: () => readonly Change[];
  /** The paths that could not be read. */
  readonly unreadable: () => readonly WorkspacePath[];
  readonly onWritable: (paths: ReadonlySet<WorkspacePath>) => void;
  readonly onReadable: (paths: readonly WorkspacePath[]) => void;
  readonly onError: (error: unknown) => void;
}

/** The minimum time between two checks, in ms. */
const BETWEEN_MS = 3_000;
/** The minimum time between two checks, as a multiple of the duration of a check. Slow checks thus run less often. */
const COSTLY_PARTS = 20;
/** The maximum number of blocked paths, and of unreadable paths, that one check covers. */
const MOST_LOOKED_AT = 500;

/**
 * Checks, every few seconds, the paths that could not be written or read. A path is retried only once a check no longer
 * finds its obstacle, because a retry adds a line to the log, and a check does not. Most obstacles disappear without
 * any recorded event: a FIFO or an ignored file is removed, a file system is remounted for writing, an attribute is
 * cleared. Obstacles that a check cannot detect, such as a quota, are left to `Retries`.
 */
export class Obstacles implements Disposable {
  readonly #options: ObstaclesOptions;
  #seen = new Set<WorkspacePath>();
  #looked = new Set<WorkspacePath>();
  #from = 0;
  #timer: Disposable | undefined;
  #isLooking = false;
  #isEnded = false;

  constructor(options: ObstaclesOptions) {
    this.#options = options;
  }

  /** Starts a check at once if new paths wait. Otherwise, schedules the next check. */
  look(): void {
    this.#isEnded = false;
    if (this.#isLooking) return;
    const paths = this.#paths();
    if (paths.length === 0) return this.#rest();
    if (paths.some((path) => !this.#looked.has(path))) return this.#start();
    this.#timer ??= this.#options.timers.after(BETWEEN_MS, () => this.#start());
  }

  [Symbol.dispose](): void {
    this.#isEnded = true;
    this.#rest();
  }

  #rest(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#seen.clear();
    this.#looked.clear();
  }

  #paths(): WorkspacePath[] {
    const { blocked, unreadable } = this.#options;
    return [...blocked().map(({ path }) => path), ...unreadable()];
  }

  #start(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#isLooking = true;
    const { now, timers, inTurn, onError } = this.#options;
    const began = now();
    inTurn(() => this.#lookAtAll())
      .catch(onError)
      .finally(() => {
        this.#isLooking = false;
        if (this.#isEnded || this.#paths().length === 0) return this.#rest();
        const ms = Math.max(BETWEEN_MS, COSTLY_PARTS * (now() - began));
        this.#timer = timers.after(ms, () => this.#start());
      });
  }

  async #lookAtAll(): Promise<void> {
    if (this.#isEnded) return;
    const { blocked, unreadable, onWritable, onReadable } = this.#options;
    const [changes, files] = [this.#turnOf(blocked()), this.#turnOf(unreadable())];
    this.#from += MOST_LOOKED_AT;
    const writable = await this.#writable(changes);
    const readable = await this.#readable(files);
    const before = this.#seen;
    const all = [...changes.map(({ path }) => path), ...files];
    this.#looked = new Set(all.length < MOST_LOOKED_AT ? all : this.#paths());
    this.#seen = new Set(all.filter((path) => !writable.has(path) && !readable.has(path)));
    // Keep the obstacles of the paths that this check did not cover.
    for (const path of before) if (!all.includes(path)) this.#seen.add(path);
    const [gone, opened] = [writable, readable].map((paths) => [...paths].filter((path) => before.has(path)));
    if (gone !== undefined && gone.length > 0) onWritable(new Set(gone));
    if (opened !== undefined && opened.length > 0) onReadable(opened);
  }

  /** Returns at most `MOST_LOOKED_AT` items, beginning at `#from`, so that consecutive checks cover different items. */
  #turnOf<T>(all: readonly T[]): readonly T[] {
    if (all.length <= MOST_LOOKED_AT) return all;
    const from = this.#from % all.length;
    return [...all.slice(from), ...all.slice(0, from)].slice(0, MOST_LOOKED_AT);
  }

  async #writable(changes: readonly Change[]): Promise<ReadonlySet<WorkspacePath>> {
    if (changes.length === 0) return new Set();
    const { applied } = await this.#options.worktree.check({ changes, onBlocked: "skip", permissions: true });
    return new Set(applied);
  }

  async #readable(files: readonly WorkspacePath[]): Promise<ReadonlySet<WorkspacePath>> {
    const readable = new Set<WorkspacePath>();
    for (const path of files)
      if ((await this.#options.worktree.explain(path)).unreadable === undefined) readable.add(path);
    return readable;
  }
}
