/** A change is told after so many paths at least. */
const STEP = 64;

/**
 * How far an apply is, for people: files count when they are staged, which takes most of the time; where there is nothing to
 * stage, paths count as they are put into place or removed. It never goes back.
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

  /** So many more files are staged. */
  staged(files: number): void {
    this.#staged += files;
    this.#reached(this.#staged);
  }

  /** So many paths in all are what they are to be. */
  placed(paths: number): void {
    this.#reached(paths);
  }

  /** Tells it, whatever was told before. */
  finished(): void {
    this.#tell?.(this.#total, this.#total);
  }

  #reached(done: number): void {
    if (done - this.#told < STEP) return;
    this.#told = done;
    this.#tell?.(done, this.#total);
  }
}
