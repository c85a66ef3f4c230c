import type { Omission } from "../../core/records/coverage.ts";
import { isWithin, type WorkspacePath } from "../../core/values/path.ts";
import { Signal } from "../../util/signal.ts";
import type { WatchHandle, WatchHint, Worktree } from "../../worktree/worktree.ts";

/** What a look at some paths found that it did not take, and which paths these were (`undefined`: everywhere). */
interface Look {
  readonly only: readonly WorkspacePath[] | undefined;
  readonly omitted: readonly Omission[];
}

/**
 * Knows where something may have changed since everything was last looked at, from a watcher that goes on: a capture of
 * everything then looks only there. It trusts the watcher only where that can say that every hint of the past has come;
 * else it says that everything must be looked at.
 */
export class DirtyPaths {
  /** Something may have changed, at these paths; `undefined`: anywhere. */
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

  /** The watch ends with the worktree. */
  async start(): Promise<void> {
    this.#handle ??= await this.#worktree.watch((hint) => this.#note(hint));
  }

  /** Watches anew, after what is tracked was changed: nobody knows what happened meanwhile. */
  async restart(): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
    await this.start();
    this.giveBack(undefined);
  }

  /** May hints be missed (too few watches)? */
  get degraded(): boolean {
    return this.#handle?.degraded ?? false;
  }

  /** What could not be read when it was last looked at. */
  get unreadable(): readonly WorkspacePath[] {
    return this.#omitted.filter(({ reason }) => reason === "unreadable").map(({ path }) => path);
  }

  /** What held an erased content when it was last looked at. */
  get erased(): readonly WorkspacePath[] {
    return this.#omitted.filter(({ reason }) => reason === "erased").map(({ path }) => path);
  }

  /** These are to be looked at, though nobody has told that anything happened there. */
  hint(paths: readonly WorkspacePath[]): void {
    this.#note({ paths });
  }

  get started(): boolean {
    return this.#handle !== undefined;
  }

  /** Where to look; `undefined`: everywhere. What is taken is taken: `giveBack` what was not looked at after all. */
  async take(): Promise<readonly WorkspacePath[] | undefined> {
    const settled = (await this.#handle?.settled()) ?? false;
    const everything = this.#everything || !settled;
    const paths = [...this.#dirty];
    this.#dirty.clear();
    this.#everything = false;
    return everything ? undefined : paths;
  }

  /**
   * As `take`, for who only wants to know early: what was hinted at up to now. Hints come after what they are about, so
   * whatever is changed after a look at such a path is hinted at again.
   */
  takeHinted(): readonly WorkspacePath[] | undefined {
    if (this.#everything) return undefined;
    const paths = [...this.#dirty];
    this.#dirty.clear();
    return paths;
  }

  /** Every hint of the past has come, where that can be said: what is still being written is known then. */
  async settle(): Promise<void> {
    await this.#handle?.settled();
  }

  giveBack(paths: readonly WorkspacePath[] | undefined): void {
    if (paths === undefined) this.#everything = true;
    else for (const path of paths) this.#dirty.add(path);
  }

  /** Notes what a look did not take; answers what is not taken of the whole. What was unstable is looked at again. */
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

  /** The erasures in force: once they are others, what was left out because of them is looked at again. */
  noteErasures(erasures: object): void {
    if (this.#erasures === erasures) return;
    this.#erasures = erasures;
    this.giveBack(this.#omitted.filter(({ reason }) => reason === "erased").map(({ path }) => path));
  }

  /** The rules of a look at everything; are they others than those of the one before? */
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
