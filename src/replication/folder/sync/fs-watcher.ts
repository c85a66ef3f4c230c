import type { WorkspacePath } from "../../../core/values/path.ts";
import { capture } from "../../../engine/capture/capture.ts";
import type { Context } from "../../../engine/log/context.ts";
import { followSettings } from "../../../engine/log/follow-settings.ts";
import { longestWaitMs, QuietPaths } from "../../../engine/capture/quiet-paths.ts";
import { endOrphans } from "../../../engine/undo/transaction.ts";
import type { Timers } from "../../../util/timers.ts";

/** What a folder is watched with. */
export interface FsWatcherOptions {
  readonly context: Context;
  /** A path must have been quiet for so long before it is looked at, in milliseconds; see `longestWaitMs`. */
  readonly debounceMs: number;
  readonly timers: Timers;
  /** Runs one change of the workspace after another. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** Something was recorded, or a look has failed. */
  readonly onLooked: (error?: unknown) => void;
}

/**
 * So often everything is looked at, in milliseconds, whatever was hinted at: nobody tells of what is written by another
 * name of the same file (a hard link), or through a memory map.
 */
const UNHINTED_MS = 15 * 60_000;

/**
 * Records what people and programs change in a folder, once it has been quiet for a moment: what an editor does in several
 * steps (a temporary file, a rename, a swap file that comes and goes) is then one change, or none. Whether something has
 * changed is decided by content, in the capture; so what the sync has written itself is no change, whenever it is hinted at.
 */
export class FsWatcher {
  readonly #options: FsWatcherOptions;
  /** What was taken from the live view, and is being written still. */
  readonly #busy: QuietPaths;
  #due = new Set<WorkspacePath>();
  /** Those of them that were waited for long enough. */
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

  /** Begins to watch. What was changed before is for `look`. */
  async start(): Promise<void> {
    const { live } = this.#options.context;
    await live.start();
    // What could not be watched then may be there now: a folder that was away.
    if (live.degraded) await live.restart();
    this.#listening ??= live.hinted.listen(() => this.#hinted());
    this.#lookUnhinted();
  }

  /**
   * Looks at everything that may have changed, now; resolves when it is recorded. Rejects where that fails. `unhinted`: also
   * at what nobody was told of.
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
    // A look at everything takes for itself what comes before it; what comes after is for the next look.
    if (this.#isLookingAtAll) return;
    const { live } = this.#options.context;
    // What is taken is everything, which the look that follows takes for itself.
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

  /** One look at a time; who comes meanwhile is looked at after it. */
  async #lookAtDue(): Promise<void> {
    while (this.#looking !== undefined) await this.#looking.catch(() => undefined);
    if (!this.#isDue) return;
    this.#looking = this.#options.inTurn(() => this.#look());
    try {
      await this.#looking;
    } catch (error) {
      // Nobody knows what of it was seen: whoever waits for this look looks himself.
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
    // What was begun by a process that is gone is nobody's any more.
    await endOrphans(context);
    // Folders may be tracked now that were not before.
    const isOther = await followSettings(context);
    if (isOther) await live.restart();
    await live.settle();
    // What is being written at this very moment waits again: its hints are taken, so it is not lost.
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
    // What could not be read in one piece is looked at again.
    this.#hinted();
  }

  /** `due`: what was taken from the live view already. What "everything" is, that view knows: it would look nowhere else. */
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
