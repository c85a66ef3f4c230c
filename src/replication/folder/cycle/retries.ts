import { foldersAbove, type WorkspacePath } from "../../../core/values/path.ts";
import type { Timers } from "../../../util/timers.ts";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 3_600_000;

/** Schedules the retries of paths that could not be written, each time after a longer wait. */
export class Retries implements Disposable {
  readonly #timers: Timers;
  readonly #onDue: () => void;
  readonly #attempts = new Map<WorkspacePath, number>();
  readonly #waiting = new Map<WorkspacePath, Disposable>();

  constructor(timers: Timers, onDue: () => void) {
    this.#timers = timers;
    this.#onDue = onDue;
  }

  /** Returns true if the path must not be retried yet. */
  isWaiting(path: WorkspacePath): boolean {
    return this.#waiting.has(path);
  }

  /** Notes a failed attempt. */
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

  /** Forgets a path whose change was carried out. */
  forget(path: WorkspacePath): void {
    this.#waiting.get(path)?.[Symbol.dispose]();
    this.#waiting.delete(path);
    this.#attempts.delete(path);
  }

  /** Notes a change at these paths, such as a new permission. Waiting paths at or beneath them may be retried now. */
  changed(paths: ReadonlySet<WorkspacePath>): void {
    for (const [path, timer] of this.#waiting) {
      if (!paths.has(path) && !foldersAbove(path).some((folder) => paths.has(folder))) continue;
      timer[Symbol.dispose]();
      this.#waiting.delete(path);
    }
  }

  /** Allows all paths to be retried now. */
  hurry(): void {
    for (const timer of this.#waiting.values()) timer[Symbol.dispose]();
    this.#waiting.clear();
  }

  [Symbol.dispose](): void {
    this.hurry();
    this.#attempts.clear();
  }
}
