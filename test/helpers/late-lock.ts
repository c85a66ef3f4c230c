import type { HeldLock, Lock } from "../../src/storage/lock.ts";

/** A lock that calls a function right before each exclusive lock is taken. */
export class LateLock implements Lock {
  readonly #inner: Lock;
  readonly #before: () => Promise<void>;

  constructor(inner: Lock, before: () => Promise<void>) {
    this.#inner = inner;
    this.#before = before;
  }

  async exclusive(waitMs: number): Promise<HeldLock> {
    await this.#before();
    return this.#inner.exclusive(waitMs);
  }

  shared(waitMs: number): Promise<HeldLock> {
    return this.#inner.shared(waitMs);
  }

  close(): void {
    this.#inner.close();
  }
}
