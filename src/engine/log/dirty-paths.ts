import type { Omission } from "../../core/records/coverage.ts";
import { isWithin, type WorkspacePath } from "../../core/values/path.ts";
import { Signal } from "../../util/signal.ts";
import type { WatchHandle, WatchHint, Worktree } from "../../worktree/worktree.ts";

/** The omissions of one scan, and the paths that it covered (`undefined`: everywhere). */
interface Look {
  readonly only: readonly WorkspacePath[] | undefined;
  readonly omitted: readonly Omission[];
}

/**
 * Knows, from a running watcher, where something may have changed since the last full scan: a full capture then scans
 * only there. It trusts the watcher only if that can say that every past hint has arrived; otherwise everything must be
 * scanned.
 */
export class DirtyPaths {
  /** Emits the paths at which something may have changed; `undefined`: anywhere. */
  readonly hinted = new Signal<readonly WorkspacePath[] | undefined>();
  readonly #worktree: Worktree;
  readonly #dirty = new Set<WorkspacePath>();
  #everything = true;
  #handle: WatchHandle | undefined;
  #omitted: readonly Omission[] = [];
  #erasures: object | undefined;
  #rules: string | undefined;

  constructor(worktree: Worktree) {
    this.#worktree = worktree;
  }

  /** Starts the watcher, which ends with the worktree. */
  async start(): Promise<void> {
    this.#handle ??= await this.#worktree.watch((hint) => this.#note(hint));
  }

  /**
   * Starts a new watcher after the tracked roots were changed. What happened meanwhile is unknown, so the next scan is
   * a full one.
   */
  async restart(): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
    await this.start();
    this.giveBack(undefined);
  }

  /** True if hints may be missed (too few watches). */
  get degraded(): boolean {
    return this.#handle?.degraded ?? false;
  }

  /** Returns the paths that could not be read when they were last scanned. */
  get unreadable(): readonly WorkspacePath[] {
    return this.#omitted.filter(({ reason }) => reason === "unreadable").map(({ path }) => path);
  }

  /** Returns the paths that held an erased content when they were last scanned. */
  get erased(): readonly WorkspacePath[] {
    return this.#omitted.filter(({ reason }) => reason === "erased").map(({ path }) => path);
  }

  /** Marks paths to be scanned, though no watcher has hinted at them. */
  hint(paths: readonly WorkspacePath[]): void {
    this.#note({ paths });
  }

  get started(): boolean {
    return this.#handle !== undefined;
  }

  /**
   * Takes the paths to scan; `undefined`: everywhere. They are removed here: `giveBack` those that were not scanned
   * after all.
   */
  async take(): Promise<readonly WorkspacePath[] | undefined> {
    const settled = (await this.#handle?.settled()) ?? false;
    const everything = this.#everything || !settled;
    const paths = [...this.#dirty];
    this.#dirty.clear();
    this.#everything = false;
    return everything ? undefined : paths;
  }

  /**
   * Takes the paths hinted at so far, for callers that only want to know early. A hint comes after its change, so a
   * change after such a path was scanned is hinted at again.
   */
  takeHinted(): readonly WorkspacePath[] | undefined {
    if (this.#everything) return undefined;
    const paths = [...this.#dirty];
    this.#dirty.clear();
    return paths;
  }

  /**
   * Drops the hints at files that certainly are as they are remembered: what Chronicle itself has just written. Returns
   * whether any hint is left. None is lost: a change after the stat of a file is hinted at after that, and nothing else
   * happens here in between.
   */
  dropUnchanged(): boolean {
    const omitted = new Set(this.#omitted.map(({ path }) => path));
    for (const path of this.#dirty)
      if (!omitted.has(path) && this.#worktree.isUnchanged(path)) this.#dirty.delete(path);
    return this.#everything || this.#dirty.size > 0;
  }

  /**
   * Waits until every past hint has arrived, if the watcher can say so: paths that are still being written are known
   * then.
   */
  async settle(): Promise<void> {
    await this.#handle?.settled();
  }

  giveBack(paths: readonly WorkspacePath[] | undefined): void {
    if (paths === undefined) this.#everything = true;
    else for (const path of paths) this.#dirty.add(path);
  }

  /** Notes the omissions of a scan; returns those of the whole workspace. Unstable paths will be scanned again. */
  looked({ only, omitted }: Look): readonly Omission[] {
    const seen = new Set(omitted.map((one) => one.path));
    const others =
      only === undefined
        ? []
        : this.#omitted.filter((one) => !seen.has(one.path) && !only.some((path) => isWithin(one.path, path)));
    this.#omitted = [...others, ...omitted];
    this.giveBack(omitted.filter(({ reason }) => reason === "unstable").map(({ path }) => path));
    return this.#omitted;
  }

  /**
   * Notes the erasures in force: if they have changed, paths that were omitted because of erasures are scanned again.
   */
  noteErasures(erasures: object): void {
    if (this.#erasures === erasures) return;
    this.#erasures = erasures;
    this.giveBack(this.#omitted.filter(({ reason }) => reason === "erased").map(({ path }) => path));
  }

  /** Notes the rules of a full scan; returns true if they differ from the previous ones. */
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
