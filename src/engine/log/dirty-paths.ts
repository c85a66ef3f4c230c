import type { Omission } from "../../core/records/coverage.ts";
import { isRoot, isWithin, parentOf, type WorkspacePath } from "../../core/values/path.ts";
import { Signal } from "../../util/signal.ts";
import { NODE_TIMERS, type Timers } from "../../util/timers.ts";
import type { LinkedFile, WatchHandle, WatchHint, Worktree } from "../../worktree/worktree.ts";

interface Watched extends Pick<Worktree, "watch" | "isUnchanged"> {
  restart?(): Promise<void>;
}

interface Look {
  readonly only: readonly WorkspacePath[] | undefined;
  readonly omitted: readonly Omission[];
  /** See `ScanReport.linked`. If omitted, the links known so far are kept. */
  readonly linked?: readonly LinkedFile[];
  /** The duration of the scan, in milliseconds, if it is known. */
  readonly tookMs?: number;
}

/**
 * The maximum age of the last full scan, in milliseconds. No watcher reports a write through a memory map, so an older
 * scan is not relied on.
 */
const MOST_AGE_MS = 600_000;

/**
 * Collects from a running watcher the paths at which something may have changed since they were last scanned. While the
 * watcher runs, a capture of everything scans only these paths and files with several links. If the watcher cannot
 * confirm that all past hints have arrived, everything is scanned.
 */
export class DirtyPaths {
  /** Emits the paths at which something may have changed; `undefined`: anywhere. */
  readonly hinted = new Signal<readonly WorkspacePath[] | undefined>();
  readonly #worktree: Watched;
  /** The dirty paths, each with the number of its last hint. */
  readonly #dirty = new Map<WorkspacePath, number>();
  /**
   * The number of the last hint that anything may have changed; `undefined` if only the dirty paths must be scanned.
   */
  #everything: number | undefined = 0;
  #hints = 0;
  #handle: WatchHandle | undefined;
  #omitted: readonly Omission[] = [];
  /** Files with several links. They are scanned each time, because a write through another link is not reported. */
  #linked: readonly LinkedFile[] = [];
  /** The start of the last full scan (from `timers`). */
  #lookedAt = 0;
  #fullLookMs = 0;
  readonly #timers: Pick<Timers, "now">;
  #erasures: object | undefined;
  #rules: string | undefined;

  /** `worktree`: the worktree, or another `DirtyPaths`, whose watcher is shared. */
  constructor(worktree: Watched, timers: Pick<Timers, "now"> = NODE_TIMERS) {
    this.#worktree = worktree;
    this.#timers = timers;
  }

  /** Starts the watcher, which ends with the worktree. */
  async start(): Promise<void> {
    this.#handle ??= await this.#worktree.watch((hint) => this.#note(hint));
  }

  /**
   * Starts a new watcher after a change of the tracked roots. Changes before the new watcher runs are unknown, so the
   * next scan is a full one.
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

  isUnchanged(path: WorkspacePath): boolean {
    return this.#worktree.isUnchanged(path);
  }

  /** Ends the watcher. Later changes are unknown, so the next scan is a full one. */
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

  /** Marks paths that no watcher has reported, so that they are scanned. */
  hint(paths: readonly WorkspacePath[]): void {
    this.#note({ paths });
  }

  /** The duration of the last full scan, in milliseconds; 0 if there was none. */
  get fullLookMs(): number {
    return this.#fullLookMs;
  }

  /**
   * True if one of these files was not known to have several links. If so, the file's other paths may have changed
   * without a hint. Files are compared by inode, because a new file can be at the path of an earlier one.
   */
  areNewLinks(linked: readonly LinkedFile[]): boolean {
    const known = new Set(this.#linked.map(({ inode }) => inode));
    return linked.some(({ inode }) => !known.has(inode));
  }

  get started(): boolean {
    return this.#handle !== undefined;
  }

  /**
   * Returns the paths to scan (`undefined`: all), and forgets them. Paths that are not scanned after all must be passed
   * to `giveBack`.
   */
  async take(): Promise<readonly WorkspacePath[] | undefined> {
    const isSettled = (await this.#handle?.settled()) ?? false;
    // No `await` may follow: a hint that arrived in between would be lost.
    const paths = this.#collect(isSettled);
    this.#dirty.clear();
    this.#everything = undefined;
    return paths;
  }

  /**
   * Returns the paths to scan (`undefined`: all) for a scan that records nothing. Forgets none of these paths, because
   * a capture must still find them. `upTo`: see `seen`.
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
   * the paths that differ from their recorded states. These paths and paths with a later hint stay dirty. The other
   * paths that were dirty at that `look` become clean.
   */
  seen(upTo: number, changed: readonly WorkspacePath[]): void {
    if (this.#everything !== undefined && this.#everything <= upTo) this.#everything = undefined;
    for (const [path, hint] of this.#dirty) if (hint <= upTo) this.#dirty.delete(path);
    this.giveBack(changed);
  }

  /**
   * Returns the paths reported so far, and forgets them; `undefined` if everything must be scanned. Does not wait for
   * hints that are still to arrive. A hint arrives after its change. If a path changes after its scan, a new hint
   * therefore marks the path as dirty again.
   */
  takeHinted(): readonly WorkspacePath[] | undefined {
    if (this.#everything !== undefined) return undefined;
    const paths = [...this.#dirty.keys()];
    this.#dirty.clear();
    return paths;
  }

  /** The paths that must still be scanned; `undefined`: everything. Reading this property forgets no path. */
  get left(): readonly WorkspacePath[] | undefined {
    return this.#everything === undefined ? [...this.#dirty.keys()] : undefined;
  }

  /**
   * Drops the hints on paths whose files are certainly unchanged, for example because Chronicle itself has just written
   * them. Returns true if one of the paths, or everything, must still be scanned. No change is lost, because a change
   * after the stat of a file causes another hint.
   */
  dropUnchanged(paths: Iterable<WorkspacePath>): boolean {
    const omitted = new Set(this.#omitted.map(({ path }) => path));
    let isAnyLeft = this.#everything !== undefined;
    for (const path of paths) {
      if (!this.#dirty.has(path)) continue;
      if (!omitted.has(path) && this.#worktree.isUnchanged(path)) this.#dirty.delete(path);
      else isAnyLeft = true;
    }
    return isAnyLeft;
  }

  /**
   * Waits until a hint has arrived for each file that was written before this call, if the watcher can confirm that.
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
   * Notes the result of a scan, and returns the omissions of the whole workspace. The next scan reads unstable paths
   * again.
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

  /** Records the erasures in force. If they have changed, paths that were omitted as erased are scanned again. */
  noteErasures(erasures: object): void {
    if (this.#erasures === erasures) return;
    this.#erasures = erasures;
    this.giveBack(this.#omitted.filter(({ reason }) => reason === "erased").map(({ path }) => path));
  }

  /** Records the rules of a full scan. Returns true if they differ from the previous ones. */
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
