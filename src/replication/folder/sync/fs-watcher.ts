import { capture } from "../../../engine/capture/capture.ts";
import { HintedCapture } from "../../../engine/capture/hinted-capture.ts";
import type { Context } from "../../../engine/log/context.ts";
import { followSettings } from "../../../engine/log/follow-settings.ts";
import { endOrphans } from "../../../engine/undo/transaction.ts";
import { optional } from "../../../util/optional.ts";
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
        // Actions begun by a process that is gone must not own the changes.
        await endOrphans(context);
        return followSettings(context);
      },
      capture: (only) => capture(context, { cause: "capture", ...optional({ only }) }),
      onScanned: onLooked,
    });
  }

  /** Begins to watch. Earlier changes are left to `look`. */
  async start(): Promise<void> {
    const { live } = this.#options.context;
    await live.start();
    // A folder that could not be watched before, as it was away, may be there now.
    if (live.degraded) await live.restart();
    this.#hinted.start();
    this.#lookUnhinted();
  }

  /**
   * Scans everything that may have changed, now; resolves once it is recorded. Rejects if that fails. `unhinted`: also
   * paths without a hint.
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
