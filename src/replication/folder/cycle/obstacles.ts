import type { Change } from "../../../core/values/change.ts";
import type { WorkspacePath } from "../../../core/values/path.ts";
import type { Worktree } from "../../../worktree/worktree.ts";
import type { Timers } from "../../../util/timers.ts";

/** Which obstacles are looked at, and who is told when one is gone. */
export interface ObstaclesOptions {
  readonly worktree: Pick<Worktree, "check" | "explain">;
  readonly timers: Timers;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Runs one change of the workspace after another. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** What could not be written into the folder, and waits to be tried again. */
  readonly blocked: () => readonly Change[];
  /** What could not be read. */
  readonly unreadable: () => readonly WorkspacePath[];
  /** These can be written now, as far as can be seen. */
  readonly onWritable: (paths: ReadonlySet<WorkspacePath>) => void;
  /** These can be read now. */
  readonly onReadable: (paths: readonly WorkspacePath[]) => void;
  readonly onError: (error: unknown) => void;
}

/** The time between two looks, in ms. */
const BETWEEN_MS = 3_000;
/** A look that takes long is done more seldom: it takes at most one part of so many of all time. */
const COSTLY_PARTS = 20;
/** The number of paths of each kind that one look is about. */
const MOST_LOOKED_AT = 500;

/**
 * Sees that what was in the way of paths is gone. Most obstacles go without any event that would be recorded: a FIFO or an ignored file
 * is removed, a file system is mounted for writing, an attribute is taken away. To try costs lines in the log, to look costs nothing:
 * so each path is looked at every few seconds, and is tried once the look says otherwise than before. An obstacle that no look
 * shows (a quota) is left to the retries.
 */
export class Obstacles implements Disposable {
  readonly #options: ObstaclesOptions;
  /** The paths of which a look has shown an obstacle. */
  #seen = new Set<WorkspacePath>();
  /** All paths that the last look was about. */
  #looked = new Set<WorkspacePath>();
  #from = 0;
  #timer: Disposable | undefined;
  #isLooking = false;
  #isEnded = false;

  constructor(options: ObstaclesOptions) {
    this.#options = options;
  }

  /** Something was done about paths: what is new among those that wait is looked at now, the others after a while. */
  look(): void {
    this.#isEnded = false;
    if (this.#isLooking) return;
    const paths = this.#paths();
    if (paths.length === 0) return this.#rest();
    if (paths.some((path) => !this.#looked.has(path))) return this.#start();
    this.#timer ??= this.#options.timers.after(BETWEEN_MS, () => this.#start());
  }

  /** Nothing is looked at any more, until `look`. */
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
    // Of many, only some are looked at each time: those of the others stay.
    for (const path of before) if (!all.includes(path)) this.#seen.add(path);
    const [gone, opened] = [writable, readable].map((paths) => [...paths].filter((path) => before.has(path)));
    if (gone !== undefined && gone.length > 0) onWritable(new Set(gone));
    if (opened !== undefined && opened.length > 0) onReadable(opened);
  }

  /** Of many, other ones each time. */
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
