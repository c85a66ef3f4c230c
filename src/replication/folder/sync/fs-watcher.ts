import type { WorkspacePath } from "../../../core/values/path.ts";
import { capture } from "../../../engine/capture/capture.ts";
import type { Context } from "../../../engine/log/context.ts";
import { followSettings } from "../../../engine/log/follow-settings.ts";
import { longestWaitMs, QuietPaths } from "../../../engine/capture/quiet-paths.ts";
import { endOrphans } from "../../../engine/undo/transaction.ts";
import type { Timers } from "../../../util/timers.ts";

/** The parts that a folder is watched with. */
export interface FsWatcherOptions {
  readonly context: Context;
  /** The time a path must have been quiet before it is scanned, in milliseconds; see `longestWaitMs`. */
  readonly debounceMs: number;
  readonly timers: Timers;
  /** Serialises changes of the workspace. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** Called after each scan, also if nothing had changed; with the error if one failed that no caller waits for. */
  readonly onLooked: (error?: unknown) => void;
}

/**
 * The time between two full scans, in milliseconds, whatever was hinted at: writes through another name of the same
 * file (a hard link), or through a memory map, cause no hint.
 */
const UNHINTED_MS = 15 * 60_000;

/**
 * Records changes in a folder once it has been quiet for a moment: an editor's several steps (a temporary file, a
 * rename, a swap file that comes and goes) are then one change, or none. The capture decides by content whether
 * something has changed, so the sync's own writes are no change, whenever they are hinted at.
 */
export class FsWatcher {
  readonly #options: FsWatcherOptions;
  /** Paths taken from the live view that are still being written. */
  readonly #busy: QuietPaths;
  #due = new Set<WorkspacePath>();
  /** The due paths that have waited for as long as a path may. */
  #late = new Set<WorkspacePath>();
  #isAllDue = false;
  #isLookingAtAll = false;
  #listening: Disposable | undefined;
  #unhinted: Disposable | undefined;
  #looking: Promise<void> | undefined;

  constructor(options: FsWatcherOptions) {
    this.#options = options;
    const { debounceMs, timers } = options;
    this.#busy = new QuietPaths({
      ...{ quietMs: debounceMs, mostMs: longestWaitMs(debounceMs), timers },
      onQuiet: (paths, isLate) => this.#ripe(paths, isLate),
    });
  }

  /** Begins to watch. Earlier changes are left to `look`. */
  async start(): Promise<void> {
    const { live } = this.#options.context;
    await live.start();
    // A folder that could not be watched before, as it was away, may be there now.
    if (live.degraded) await live.restart();
    this.#listening ??= live.hinted.listen(() => this.#hinted());
    this.#lookUnhinted();
  }

  /**
   * Scans everything that may have changed, now; resolves once it is recorded. Rejects if that fails. `unhinted`: also
   * paths without a hint.
   */
  async look({ unhinted = false }: { readonly unhinted?: boolean } = {}): Promise<void> {
    if (unhinted) this.#options.context.live.giveBack(undefined);
    this.#forgetBusy();
    this.#isAllDue = true;
    await this.#lookAtDue();
  }

  async stop(): Promise<void> {
    this.#listening?.[Symbol.dispose]();
    this.#listening = undefined;
    this.#unhinted?.[Symbol.dispose]();
    this.#unhinted = undefined;
    this.#forgetBusy();
    await this.#looking?.catch(() => undefined);
  }

  get #isDue(): boolean {
    return this.#isAllDue || this.#due.size > 0;
  }

  #lookUnhinted(): void {
    const { timers, onLooked } = this.#options;
    this.#unhinted?.[Symbol.dispose]();
    this.#unhinted = timers.after(UNHINTED_MS, () => {
      this.#lookUnhinted();
      void this.look({ unhinted: true }).catch((error: unknown) => onLooked(error));
    });
  }

  #hinted(): void {
    // A full scan takes the hints that come before it; later ones are left to the next scan.
    if (this.#isLookingAtAll) return;
    const { live } = this.#options.context;
    // If everything was hinted, the scan that follows takes that itself.
    this.#busy.hint(live.takeHinted());
  }

  #ripe(paths: ReadonlySet<WorkspacePath> | undefined, isLate: boolean): void {
    if (this.#listening === undefined) return;
    if (paths === undefined) this.#isAllDue = true;
    for (const path of paths ?? []) {
      this.#due.add(path);
      if (isLate) this.#late.add(path);
    }
    void this.#lookAtDue().catch((error: unknown) => this.#options.onLooked(error));
  }

  /** Runs one scan at a time; paths that come meanwhile are scanned after it. */
  async #lookAtDue(): Promise<void> {
    while (this.#looking !== undefined) await this.#looking.catch(() => undefined);
    if (!this.#isDue) return;
    this.#looking = this.#options.inTurn(() => this.#look());
    try {
      await this.#looking;
    } catch (error) {
      // It is unknown what the scan has seen, so other waiting callers scan everything.
      this.#isAllDue = true;
      throw error;
    } finally {
      this.#looking = undefined;
    }
    this.#options.onLooked();
  }

  async #look(): Promise<void> {
    const { context } = this.#options;
    const { live } = context;
    // Actions begun by a process that is gone must not own the changes.
    await endOrphans(context);
    // The settings may track folders now that they did not before.
    const isOther = await followSettings(context);
    if (isOther) await live.restart();
    await live.settle();
    // Paths being written at this very moment wait again: `#busy` holds them, so they are scanned later.
    const only = [...this.#due].filter((path) => this.#late.has(path) || !this.#busy.holds(path));
    this.#late = new Set();
    const isAll = this.#isAllDue || isOther;
    this.#isAllDue = false;
    this.#due = new Set();
    if (isAll) await this.#lookAtAll(only);
    else if (only.length > 0) {
      const { coverage } = await capture(context, { cause: "capture", only });
      live.looked({ only, omitted: coverage.omitted });
    }
    // Rescan what could not be read consistently.
    this.#hinted();
  }

  /**
   * Scans everything. `due`: paths already taken from the live view. They are given back first, as the scan covers only
   * paths that, according to the view, may have changed.
   */
  async #lookAtAll(due: readonly WorkspacePath[]): Promise<void> {
    const { context } = this.#options;
    context.live.giveBack(due);
    this.#isLookingAtAll = true;
    try {
      await capture(context, { cause: "capture" });
    } finally {
      this.#isLookingAtAll = false;
    }
  }

  #forgetBusy(): void {
    const { live } = this.#options.context;
    const { paths, isAll } = this.#busy.clear();
    live.giveBack(paths);
    live.giveBack([...this.#due]);
    this.#due = new Set();
    if (isAll || this.#isAllDue) live.giveBack(undefined);
    this.#isAllDue = false;
  }
}
