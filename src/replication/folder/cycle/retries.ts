import { foldersAbove, type WorkspacePath } from "../../../core/values/path.ts";
import type { Timers } from "../../../util/timers.ts";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 3_600_000;

/** What could not be done about paths is tried again, each time after a longer wait. */
export class Retries implements Disposable {
  readonly #timers: Timers;
  readonly #onDue: () => void;
  readonly #attempts = new Map<WorkspacePath, number>();
  readonly #waiting = new Map<WorkspacePath, Disposable>();

  constructor(timers: Timers, onDue: () => void) {
    this.#timers = timers;
    this.#onDue = onDue;
  }

  /** Is it not to be tried yet? */
  isWaiting(path: WorkspacePath): boolean {
    return this.#waiting.has(path);
  }

  /** It has failed. */
  failed(path: WorkspacePath): void {
    const attempts = this.#attempts.get(path) ?? 0;
    this.#attempts.set(path, attempts + 1);
    this.#waiting.get(path)?.[Symbol.dispose]();
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempts, 10));
    const timer = this.#timers.after(wait, () => {
      this.#waiting.delete(path);
      this.#onDue();
    });
    this.#waiting.set(path, timer);
  }

  /** It has been done, or is something else now. */
  forget(path: WorkspacePath): void {
    this.#waiting.get(path)?.[Symbol.dispose]();
    this.#waiting.delete(path);
    this.#attempts.delete(path);
  }

  /** Something was changed at these paths, such as a permission: what waits there, or beneath, may be tried now. */
  changed(paths: ReadonlySet<WorkspacePath>): void {
    for (const [path, timer] of this.#waiting) {
      if (!paths.has(path) && !foldersAbove(path).some((folder) => paths.has(folder))) continue;
      timer[Symbol.dispose]();
      this.#waiting.delete(path);
    }
  }

  /** All of it may be tried now. */
  hurry(): void {
    for (const timer of this.#waiting.values()) timer[Symbol.dispose]();
    this.#waiting.clear();
  }

  [Symbol.dispose](): void {
    this.hurry();
    this.#attempts.clear();
  }
}
