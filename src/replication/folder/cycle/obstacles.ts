import type { Change } from "../../../core/values/entry.ts";
import type { WorkspacePath } from "../../../core/values/path.ts";
import type { Worktree } from "../../../worktree/worktree.ts";
import type { Timers } from "../../../util/timers.ts";

/** The obstacles to check, and the callbacks for those that are gone. */
export interface ObstaclesOptions {
  readonly worktree: Pick<Worktree, "check" | "explain">;
  readonly timers: Timers;
  /** Returns the time in epoch milliseconds. */
  readonly now: () => number;
  /** Serialises changes of the workspace. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** The changes that could not be written into the folder, and wait to be retried. */
  readonly blocked: () => readonly Change[];
  /** The paths that could not be read. */
  readonly unreadable: () => readonly WorkspacePath[];
  /** Called with paths that seem writable now. */
  readonly onWritable: (paths: ReadonlySet<WorkspacePath>) => void;
  /** Called with paths that are readable now. */
  readonly onReadable: (paths: readonly WorkspacePath[]) => void;
  readonly onError: (error: unknown) => void;
}

/** The time between two checks, in ms. */
const BETWEEN_MS = 3_000;
/** The share of time for slow checks: they take at most 1/`COSTLY_PARTS` of all time, so they run less often. */
const COSTLY_PARTS = 20;
/** The number of paths of each kind that one check covers. */
const MOST_LOOKED_AT = 500;

/**
 * Detects that obstacles to paths are gone. Most obstacles disappear without any recorded event: a FIFO or an ignored
 * file is removed, a file system is remounted for writing, an attribute is cleared. A retry adds lines to the log, but
 * a check does not. Therefore, each path is checked every few seconds, and is retried once the result of its check
 * changes. Obstacles that no check shows (a quota) are left to `Retries`.
 */
export class Obstacles implements Disposable {
  readonly #options: ObstaclesOptions;
  /** The paths for which a check has shown an obstacle. */
  #seen = new Set<WorkspacePath>();
  /** All paths that the last check covered. */
  #looked = new Set<WorkspacePath>();
  #from = 0;
  #timer: Disposable | undefined;
  #isLooking = false;
  #isEnded = false;

  constructor(options: ObstaclesOptions) {
    this.#options = options;
  }

  /** Checks at once if new paths wait, else after a while. */
  look(): void {
    this.#isEnded = false;
    if (this.#isLooking) return;
    const paths = this.#paths();
    if (paths.length === 0) return this.#rest();
    if (paths.some((path) => !this.#looked.has(path))) return this.#start();
    this.#timer ??= this.#options.timers.after(BETWEEN_MS, () => this.#start());
  }

  /** Stops the checks until the next `look`. */
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
    // Each check covers only some of many paths, so the obstacles of the other paths are kept.
    for (const path of before) if (!all.includes(path)) this.#seen.add(path);
    const [gone, opened] = [writable, readable].map((paths) => [...paths].filter((path) => before.has(path)));
    if (gone !== undefined && gone.length > 0) onWritable(new Set(gone));
    if (opened !== undefined && opened.length > 0) onReadable(opened);
  }

  /** Returns all items, or at most `MOST_LOOKED_AT` of them, which are other ones with each check. */
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
