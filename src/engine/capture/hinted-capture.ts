import type { Coverage } from "../../core/records/coverage.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { Timers } from "../../util/timers.ts";
import type { DirtyPaths } from "../log/dirty-paths.ts";
import { longestWaitMs, QuietPaths } from "./quiet-paths.ts";

/**
 * The delay between the end of a hinted scan and the next hinted scan. The delay is `times` multiplied by the duration
 * of the earlier scan, but at most `mostMs` milliseconds. The delay keeps a busy folder from being read all the time.
 * The first scan after a change of the tracked folders causes no delay. Folders that were skipped until then are
 * watched only after that scan, so the next scan must come soon.
 */
const REST = { times: 3, mostMs: 10_000 };

interface HintedCaptureOptions {
  /** Emits the hints, and knows the paths that are to be scanned. */
  readonly dirty: DirtyPaths;
  /** The time, in milliseconds, for which a path must have been quiet before it is scanned. */
  readonly quietMs: number;
  /** The longest wait, in milliseconds, for a path that never becomes quiet. Default: `longestWaitMs`. */
  readonly mostMs?: number;
  readonly timers: Timers;
  /** Runs a scan when no other change of the workspace is under way. */
  readonly inTurn: (scan: () => Promise<void>) => Promise<void>;
  /** Called before each scan. Returns true if the tracked folders have changed. Throws if no scan is allowed. */
  readonly prepare: () => Promise<boolean>;
  /** Records the changes at these paths; at all paths if `only` is `undefined`. */
  readonly capture: (only: readonly WorkspacePath[] | undefined) => Promise<{ readonly coverage: Coverage }>;
  /**
   * Called after each scan that succeeded, even if nothing had changed. Also called with the error of each failed scan
   * that no caller waits for.
   */
  readonly onScanned: (error?: unknown) => void;
}

/**
 * Captures a folder as it changes. Hints say which paths to scan, and a path is scanned once it has been quiet for
 * `quietMs`.
 *
 * - No hinted path is lost. A hinted path stays dirty until a scan takes it. If that scan leaves the path out, the path
 *   becomes dirty again.
 * - A file that is being written is scanned only after the longest wait, or when everything is scanned.
 * - After a scan that failed, the next scan is a full one, because it is unknown which paths were recorded.
 * - Files that Chronicle itself has just written are not read again.
 * - One scan runs at a time. Paths that become quiet during a scan are scanned after that scan.
 * - If the tracked folders change, the changed folders are first watched, and then scanned.
 */
export class HintedCapture {
  readonly #options: HintedCaptureOptions;
  /** Paths that are being written. These paths stay dirty, so that a full scan takes them without waiting. */
  readonly #busy: QuietPaths;
  /**
   * Maps each path whose wait is over to `true` if the longest wait has passed, so that the path may still be changing.
   */
  #ripe = new Map<WorkspacePath, boolean>();
  #listening: Disposable | undefined;
  #resting: Disposable | undefined;
  #working: Promise<void> | undefined;
  #isWanted = false;
  /**
   * `#asked`: the number of calls that asked for a full scan. `#answered`: the number of these calls that need no
   * further scan.
   */
  #asked = 0;
  #answered = 0;
  /** True from a change of the tracked folders until the changed folders are watched. */
  #isWatchStale = false;

  constructor(options: HintedCaptureOptions) {
    const { quietMs, mostMs = longestWaitMs(quietMs), timers } = options;
    this.#options = options;
    this.#busy = new QuietPaths({
      ...{ quietMs, mostMs, timers },
      onQuiet: (paths, isLate) => this.#ripened(paths, isLate),
    });
  }

  get isStarted(): boolean {
    return this.#listening !== undefined;
  }

  /** Starts to follow the hints. The next scan also takes the paths that were dirty before. */
  start(): void {
    this.#listening ??= this.#options.dirty.hinted.listen((paths) => this.#busy.hint(paths));
  }

  /** Resolves when no scan is running. Pending calls of `scanAll` end without a further scan. */
  async stop(): Promise<void> {
    this.#listening?.[Symbol.dispose]();
    this.#listening = undefined;
    this.#resting?.[Symbol.dispose]();
    this.#resting = undefined;
    this.#isWanted = false;
    this.#answered = this.#asked;
    this.#busy.clear();
    this.#ripe = new Map();
    await this.#working?.catch(() => undefined);
  }

  /** Scans the dirty paths as soon as no other scan runs and the time of `rest` is over. */
  want(): void {
    if (!this.isStarted) return;
    this.#isWanted = true;
    this.#next();
  }

  /** Delays the hinted scans by `ms` milliseconds. A later call replaces an earlier one. */
  rest(ms: number): void {
    this.#resting?.[Symbol.dispose]();
    this.#resting = undefined;
    if (ms <= 0 || !this.isStarted) return;
    this.#resting = this.#options.timers.after(ms, () => {
      this.#resting = undefined;
      this.#next();
    });
  }

  /**
   * Scans all paths that are dirty now, including files that are being written. Resolves once a scan that began after
   * the call has recorded everything, or after `stop`. Rejects if the scan fails.
   */
  async scanAll(): Promise<void> {
    const asked = (this.#asked += 1);
    while (this.#answered < asked) {
      if (this.#working !== undefined) await this.#working.catch(() => undefined);
      else await this.#work().finally(() => this.#next());
    }
  }

  #ripened(paths: ReadonlySet<WorkspacePath> | undefined, isLate: boolean): void {
    // If all hints are about Chronicle's own writes, no scan is needed. Returning here avoids taking the workspace's
    // lock and reading the end of the log.
    if (!this.#options.dirty.dropUnchanged(paths ?? [])) return;
    for (const path of paths ?? []) this.#ripe.set(path, isLate || this.#ripe.get(path) === true);
    this.want();
  }

  #next(): void {
    if (!this.#isWanted || this.#resting !== undefined || this.#working !== undefined) return;
    const { onScanned } = this.#options;
    void this.#work()
      .catch((error: unknown) => onScanned(error))
      .finally(() => this.#next());
  }

  async #work(): Promise<void> {
    const { dirty, timers, inTurn, onScanned } = this.#options;
    let restMs = 0;
    this.#isWanted = false;
    this.#working = inTurn(async () => {
      const isHinted = this.#asked === this.#answered;
      const isOther = await this.#prepare();
      const began = timers.now;
      await this.#scan().finally(() => {
        if (isHinted && !isOther) restMs = Math.min(REST.mostMs, (timers.now - began) * REST.times);
      });
    });
    try {
      await this.#working;
    } catch (error) {
      dirty.giveBack(undefined);
      throw error;
    } finally {
      this.#working = undefined;
      this.rest(restMs);
    }
    onScanned();
  }

  /** Returns true if the watch was renewed. In that case, a full scan is due. */
  async #prepare(): Promise<boolean> {
    const { dirty, prepare } = this.#options;
    if (await prepare()) this.#isWatchStale = true;
    if (!this.#isWatchStale) return false;
    await dirty.restart();
    this.#isWatchStale = false;
    return true;
  }

  async #scan(): Promise<void> {
    const { dirty, capture } = this.#options;
    // This call waits for the hints about earlier changes, so that files that are being written now are known to be
    // busy.
    await dirty.settle();
    const asked = this.#asked;
    const only = asked > this.#answered ? undefined : this.#takeRipe();
    this.#isWanted = false;
    this.#ripe = new Map();
    if (only === undefined) await capture(undefined);
    else if (only.length > 0) {
      const { coverage } = await capture(only);
      dirty.looked({ only, omitted: coverage.omitted });
    }
    this.#answered = Math.max(this.#answered, asked);
    this.#waitForLeft();
  }

  /**
   * Takes the dirty paths that are not being written, or whose longest wait has passed; `undefined` if everything is
   * dirty.
   */
  #takeRipe(): readonly WorkspacePath[] | undefined {
    const { dirty } = this.#options;
    const isBusy = (path: WorkspacePath): boolean => this.#busy.holds(path) && this.#ripe.get(path) !== true;
    const hinted = dirty.takeHinted();
    dirty.giveBack(hinted?.filter(isBusy) ?? []);
    return hinted?.filter((path) => !isBusy(path));
  }

  /**
   * Starts to wait for the remaining dirty paths to become quiet. A scan gave these paths back without a hint, for
   * example because they could not be read consistently.
   */
  #waitForLeft(): void {
    if (!this.isStarted) return;
    const { left } = this.#options.dirty;
    this.#busy.hint(left?.filter((path) => !this.#busy.holds(path) && !this.#ripe.has(path)));
  }
}
