import { foldersAbove, type WorkspacePath } from "../../../core/values/path.ts";
import type { Timers } from "../../../util/timers.ts";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 3_600_000;

/**
 * Schedules retries of changes that could not be written into the folder. Each failure at a path doubles the path's
 * next wait, up to an hour.
 */
export class Retries implements Disposable {
  readonly #timers: Timers;
  readonly #onDue: () => void;
  readonly #attempts = new Map<WorkspacePath, number>();
  readonly #waiting = new Map<WorkspacePath, Disposable>();

  constructor(timers: Timers, onDue: () => void) {
    this.#timers = timers;
    this.#onDue = onDue;
  }

  isWaiting(path: WorkspacePath): boolean {
    return this.#waiting.has(path);
  }

  failed(path: WorkspacePath): void {
    const attempts = this.#attempts.get(path) ?? 0;
    this.#attempts.set(path, attempts + 1);
    this.#waiting.get(path)?.[Symbol.dispose]();
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempts);
    const timer = this.#timers.after(wait, () => {
      this.#waiting.delete(path);
      this.#onDue();
    });
    this.#waiting.set(path, timer);
  }

  /** Must be called when the path's change was carried out. The path's next failure then leads to the shortest wait. */
  forget(path: WorkspacePath): void {
    this.#waiting.get(path)?.[Symbol.dispose]();
    this.#waiting.delete(path);
    this.#attempts.delete(path);
  }

  /**
   * Must be called after a change at these paths, such as a new permission. Allows each waiting path at or beneath one
   * of these paths to be retried now.
   */
  changed(paths: ReadonlySet<WorkspacePath>): void {
    for (const [path, timer] of this.#waiting) {
      if (!paths.has(path) && !foldersAbove(path).some((folder) => paths.has(folder))) continue;
      timer[Symbol.dispose]();
      this.#waiting.delete(path);
    }
  }

  /** Allows all waiting paths to be retried now. */
  hurry(): void {
    for (const timer of this.#waiting.values()) timer[Symbol.dispose]();
    this.#waiting.clear();
  }

  [Symbol.dispose](): void {
    this.hurry();
    this.#attempts.clear();
  }
}
