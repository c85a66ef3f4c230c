import type { Omission } from "../../core/records/coverage.ts";
import { isRoot, isWithin, parentOf, type WorkspacePath } from "../../core/values/path.ts";
import { Signal } from "../../util/signal.ts";
import { NODE_TIMERS, type Timers } from "../../util/timers.ts";
import type { LinkedFile, WatchHandle, WatchHint, Worktree } from "../../worktree/worktree.ts";

interface Watched extends Pick<Worktree, "watch" | "unchangedAmong"> {
  restart?(): Promise<void>;
}

interface Look {
  /** The paths that were scanned; `undefined` if everything was scanned. */
  readonly only: readonly WorkspacePath[] | undefined;
  readonly omitted: readonly Omission[];
  /** See `ScanReport.linked`. If this field is omitted, the links known so far are kept. */
  readonly linked?: readonly LinkedFile[];
  /** The duration of the scan, in milliseconds, if it is known. */
  readonly tookMs?: number;
}

/**
 * The maximum age, in milliseconds, of the last full scan. If that scan is older, the next scan is a full one, because
 * no watcher reports writes through a memory map.
 */
const MOST_AGE_MS = 600_000;

/**
 * Collects the hints of a running watcher: the paths at which something may have changed since the last scan of these
 * paths. While the watcher runs, a capture of everything scans only the hinted paths, and the files with several hard
 * links. If the watcher cannot confirm that all past hints have arrived, the capture scans everything.
 */
export class DirtyPaths {
  /** Emits each hint: the paths at which something may have changed; `undefined` for anywhere. */
  readonly hinted = new Signal<readonly WorkspacePath[] | undefined>();
  readonly #worktree: Watched;
  /** Maps each dirty path, which must be scanned, to the number of its last hint. */
  readonly #dirty = new Map<WorkspacePath, number>();
  /**
   * The number of the last hint that named no paths, so that everything must be scanned; `undefined` if only the dirty
   * paths must be scanned.
   */
  #everything: number | undefined = 0;
  /** The number of hints so far. */
  #hints = 0;
  #handle: WatchHandle | undefined;
  #omitted: readonly Omission[] = [];
  /**
   * Files with several hard links. These files are scanned each time, because the watcher does not report a write
   * through a hard link outside of the workspace.
   */
  #linked: readonly LinkedFile[] = [];
  /** The time at which the last full scan began, on the clock of `timers`. */
  #lookedAt = 0;
  #fullLookMs = 0;
  readonly #timers: Pick<Timers, "now">;
  #erasures: object | undefined;
  #rules: string | undefined;

  /** `worktree`: the worktree to watch, or another `DirtyPaths` whose watcher is shared. */
  constructor(worktree: Watched, timers: Pick<Timers, "now"> = NODE_TIMERS) {
    this.#worktree = worktree;
    this.#timers = timers;
  }

  /** Starts the watcher, unless it runs already. The watcher runs until `stop`, or until the worktree is closed. */
  async start(): Promise<void> {
    this.#handle ??= await this.#worktree.watch((hint) => this.#note(hint));
  }

  /**
   * Starts a new watcher after a change of the tracked roots. Changes before the new watcher runs are not reported, so
   * the next scan is a full one.
   */
  async restart(): Promise<void> {
    await this.stop();
    await this.#worktree.restart?.();
    await this.start();
    this.giveBack(undefined);
  }

  /** Shares the watcher, which must have been started. Closing the returned handle does not end the watcher. */
  watch(onHint: (hint: WatchHint) => void): Promise<WatchHandle> {
    const listening = this.hinted.listen((paths) => onHint({ paths }));
    const isDegraded = (): boolean => this.degraded;
    return Promise.resolve({
      get degraded() {
        return isDegraded();
      },
      settled: async () => (await this.#handle?.settled()) ?? false,
      close: () => Promise.resolve(listening[Symbol.dispose]()),
    });
  }

  unchangedAmong(paths: readonly WorkspacePath[]): readonly WorkspacePath[] {
    return this.#worktree.unchangedAmong(paths);
  }

  /** Ends the watcher. Later changes are not reported, so the next scan is a full one. */
  async stop(): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
    this.giveBack(undefined);
  }

  /** True if hints may be missed, because the system allows too few watches. */
  get degraded(): boolean {
    return this.#handle?.degraded ?? false;
  }

  /** The paths that the last scans omitted because they could not be read. */
  get unreadable(): readonly WorkspacePath[] {
    return this.#omitted.filter(({ reason }) => reason === "unreadable").map(({ path }) => path);
  }

  /** The paths that the last scans omitted because their content was erased. */
  get erased(): readonly WorkspacePath[] {
    return this.#omitted.filter(({ reason }) => reason === "erased").map(({ path }) => path);
  }

  /** Marks paths as dirty that no watcher has reported. */
  hint(paths: readonly WorkspacePath[]): void {
    this.#note({ paths });
  }

  /** The duration of the last full scan, in milliseconds; 0 if there was none. */
  get fullLookMs(): number {
    return this.#fullLookMs;
  }

  /**
   * True if one of these files was not known to have several hard links. If so, the other paths of this file may have
   * changed without a hint. Files are compared by inode, because a new file can be at the path of an earlier one.
   */
  areNewLinks(linked: readonly LinkedFile[]): boolean {
    const known = new Set(this.#linked.map(({ inode }) => inode));
    return linked.some(({ inode }) => !known.has(inode));
  }

  get started(): boolean {
    return this.#handle !== undefined;
  }

  /**
   * Returns the paths to scan (`undefined`: all), and makes them clean. A caller that does not scan them after all must
   * pass them to `giveBack`.
   */
  async take(): Promise<readonly WorkspacePath[] | undefined> {
    const isSettled = (await this.#handle?.settled()) ?? false;
    // No `await` may follow here: a hint that arrived between `#collect` and `clear` would be lost.
    const paths = this.#collect(isSettled);
    this.#dirty.clear();
    this.#everything = undefined;
    return paths;
  }

  /**
   * Returns the paths to scan (`undefined`: all) for a scan that records nothing. The paths stay dirty, because a
   * capture must still find them. `upTo`: the number to pass to `seen`.
   */
  async look(): Promise<{ readonly paths: readonly WorkspacePath[] | undefined; readonly upTo: number }> {
    const isSettled = (await this.#handle?.settled()) ?? false;
    return { paths: this.#collect(isSettled), upTo: this.#hints };
  }

  #collect(isSettled: boolean): readonly WorkspacePath[] | undefined {
    const isAll = this.#everything !== undefined || !isSettled || this.#timers.now - this.#lookedAt > MOST_AGE_MS;
    if (isAll) this.#lookedAt = this.#timers.now;
    return isAll ? undefined : [...new Set([...this.#dirty.keys(), ...this.#linked.map(({ path }) => path)])];
  }

  /**
   * Notes the result of a scan that recorded nothing. `upTo`: the number that `look` returned for this scan. `changed`:
   * the paths that differ from their recorded states. The paths in `changed`, and paths with a hint after `look`, stay
   * dirty. All other paths become clean.
   */
  seen(upTo: number, changed: readonly WorkspacePath[]): void {
    if (this.#everything !== undefined && this.#everything <= upTo) this.#everything = undefined;
    for (const [path, hint] of this.#dirty) if (hint <= upTo) this.#dirty.delete(path);
    this.giveBack(changed);
  }

  /**
   * Returns the paths that were hinted so far, and makes them clean. Does not wait for hints that are still to arrive.
   * Returns `undefined`, and changes nothing, if everything must be scanned. A hint arrives after its change, so a
   * change after the scan of a path makes the path dirty again.
   */
  takeHinted(): readonly WorkspacePath[] | undefined {
    if (this.#everything !== undefined) return undefined;
    const paths = [...this.#dirty.keys()];
    this.#dirty.clear();
    return paths;
  }

  /** The paths that must still be scanned; `undefined`: everything. The paths stay dirty. */
  get left(): readonly WorkspacePath[] | undefined {
    return this.#everything === undefined ? [...this.#dirty.keys()] : undefined;
  }

  /**
   * Drops the hints on paths whose files are certainly unchanged, for example because Chronicle itself has just written
   * these files. Returns true if one of the paths, or everything, must still be scanned. No change is lost, because a
   * change after the check of a file causes another hint.
   */
  dropUnchanged(paths: Iterable<WorkspacePath>): boolean {
    const omitted = new Set(this.#omitted.map(({ path }) => path));
    const dirty = [...paths].filter((path) => this.#dirty.has(path));
    for (const path of this.#worktree.unchangedAmong(dirty.filter((one) => !omitted.has(one))))
      this.#dirty.delete(path);
    return this.#everything !== undefined || dirty.some((path) => this.#dirty.has(path));
  }

  /**
   * Waits until the hints on all changes before this call have arrived, or the watcher knows that it may have lost
   * hints. Does nothing if no watcher runs.
   */
  async settle(): Promise<void> {
    await this.#handle?.settled();
  }

  /** Marks these paths as dirty; `undefined`: everything. */
  giveBack(paths: readonly WorkspacePath[] | undefined): void {
    this.#hints += 1;
    if (paths === undefined) this.#everything = this.#hints;
    else for (const path of paths) this.#dirty.set(path, this.#hints);
  }

  /**
   * Notes the result of a scan, and returns the omissions of the whole workspace. Unstable paths, which changed while
   * they were read, stay dirty.
   */
  looked({ only, omitted, linked, tookMs }: Look): readonly Omission[] {
    if (linked !== undefined) this.#noteLinked(only, linked);
    if (only === undefined && tookMs !== undefined) this.#fullLookMs = tookMs;
    const seen = new Set(omitted.map((one) => one.path));
    const others =
      only === undefined
        ? []
        : this.#omitted.filter((one) => !seen.has(one.path) && !only.some((path) => isWithin(one.path, path)));
    this.#omitted = [...others, ...omitted];
    this.giveBack(omitted.filter(({ reason }) => reason === "unstable").map(({ path }) => path));
    return this.#omitted;
  }

  #noteLinked(only: readonly WorkspacePath[] | undefined, linked: readonly LinkedFile[]): void {
    const scanned = new Set(only);
    const isScanned = (path: WorkspacePath): boolean => {
      let at = path;
      while (!scanned.has(at) && !isRoot(at)) at = parentOf(at);
      return scanned.has(at);
    };
    const others = only === undefined ? [] : this.#linked.filter(({ path }) => !isScanned(path));
    this.#linked = [...others, ...linked];
  }

  /** Notes the erasures in force. If the erasures have changed, the paths that were omitted as erased become dirty. */
  noteErasures(erasures: object): void {
    if (this.#erasures === erasures) return;
    this.#erasures = erasures;
    this.giveBack(this.#omitted.filter(({ reason }) => reason === "erased").map(({ path }) => path));
  }

  /** Notes the rules of a full scan. Returns true if they differ from the rules of the previous full scan. */
  noteRules(rules: string): boolean {
    const areOthers = this.#rules !== undefined && this.#rules !== rules;
    this.#rules = rules;
    return areOthers;
  }

  #note({ paths }: WatchHint): void {
    this.giveBack(paths);
    this.hinted.emit(paths);
  }
}
