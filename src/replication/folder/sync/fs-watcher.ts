import { capture } from "../../../engine/capture/capture.ts";
import { HintedCapture } from "../../../engine/capture/hinted-capture.ts";
import type { Context } from "../../../engine/log/context.ts";
import { followSettings } from "../../../engine/log/follow-settings.ts";
import { endOrphans } from "../../../engine/undo/transaction.ts";
import { optional } from "../../../util/optional.ts";
import type { Timers } from "../../../util/timers.ts";

export interface FsWatcherOptions {
  readonly context: Context;
  /**
   * The time, in ms, for which a path must be quiet before it is scanned. A path that does not become quiet is scanned
   * after a longer time (see `longestWaitMs` in engine/capture/quiet-paths.ts).
   */
  readonly debounceMs: number;
  readonly timers: Timers;
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /**
   * Called without an argument after each successful scan, even if nothing has changed. Called with the error after a
   * failed scan that no caller waits for.
   */
  readonly onLooked: (error?: unknown) => void;
}

/**
 * The time between two full scans, in ms. Full scans are necessary, because the watcher misses writes through a memory
 * map, and writes through another name of the same file (a hard link).
 */
const UNHINTED_MS = 15 * 60_000;

/**
 * Records changes in a folder once the changed paths have been quiet for a moment. An editor saves a file in several
 * steps (a temporary file, a rename, a short-lived swap file). Because of the delay, these steps make one change, or
 * none. The sync's own writes are never recorded as changes, even if the watcher reports them late, because the capture
 * compares contents with the recorded state.
 */
export class FsWatcher {
  readonly #options: FsWatcherOptions;
  readonly #hinted: HintedCapture;
  #unhinted: Disposable | undefined;

  constructor(options: FsWatcherOptions) {
    this.#options = options;
    const { context, debounceMs, timers, inTurn, onLooked } = options;
    this.#hinted = new HintedCapture({
      dirty: context.live,
      quietMs: debounceMs,
      ...{ timers, inTurn },
      prepare: async () => {
        // The changes must not be attributed to actions of a process that has ended.
        await endOrphans(context);
        return followSettings(context);
      },
      capture: (only) => capture(context, { cause: "capture", ...optional({ only }) }),
      onScanned: onLooked,
    });
  }

  /** Begins to watch. Call `look` to find the changes that were made before the watch began. */
  async start(): Promise<void> {
    const { live } = this.#options.context;
    await live.start();
    // A folder that was missing could not be watched, but may exist now.
    if (live.degraded) await live.restart();
    this.#hinted.start();
    this.#lookUnhinted();
  }

  /**
   * Scans the paths that the watcher has reported, without waiting until they are quiet. If `unhinted` is true, also
   * scans all other paths. Resolves once the changes are recorded. Rejects if the scan fails.
   */
  async look({ unhinted = false }: { readonly unhinted?: boolean } = {}): Promise<void> {
    if (unhinted) this.#options.context.live.giveBack(undefined);
    await this.#hinted.scanAll();
  }

  async stop(): Promise<void> {
    this.#unhinted?.[Symbol.dispose]();
    this.#unhinted = undefined;
    await this.#hinted.stop();
  }

  #lookUnhinted(): void {
    const { timers, onLooked } = this.#options;
    this.#unhinted?.[Symbol.dispose]();
    this.#unhinted = timers.after(UNHINTED_MS, () => {
      this.#lookUnhinted();
      void this.look({ unhinted: true }).catch((error: unknown) => onLooked(error));
    });
  }
}
