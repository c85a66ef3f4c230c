/** Progress is reported in steps of at least this many paths. */
const STEP = 64;

/**
 * The progress of an apply, as shown to people. Files count when they are staged, which takes most of the time; if
 * there is nothing to stage, paths count when they are put into place or removed. It never decreases.
 */
export class ApplyProgress {
  readonly #tell: ((done: number, total: number) => void) | undefined;
  readonly #total: number;
  #staged = 0;
  #told = 0;

  constructor(tell: ((done: number, total: number) => void) | undefined, total: number) {
    this.#tell = tell;
    this.#total = total;
  }

  /** Adds this many newly staged files. */
  staged(files: number): void {
    this.#staged += files;
    this.#reached(this.#staged);
  }

  /** Notes that this many paths in all are in their final state. */
  placed(paths: number): void {
    this.#reached(paths);
  }

  /** Reports completion, whatever was reported before. */
  finished(): void {
    this.#tell?.(this.#total, this.#total);
  }

  #reached(done: number): void {
    if (done - this.#told < STEP) return;
    this.#told = done;
    this.#tell?.(done, this.#total);
  }
}
