/**
 * A lock that is released when its holder dies.
 *
 * Backends: `SqliteLock` (a transaction on a file that is never deleted; the kernel releases the lock when the process
 * ends, also after a crash) and `MemoryLock` (within one process).
 *
 * Contract
 * - `exclusive` waits for every other holder, `shared` only for an exclusive one. The lock is not re-entrant.
 * - Requests of one object are served in their order: `shared` does not overtake an `exclusive` that waits.
 * - Waiting does not block the event loop. After `waitMs`, `LOCKED` is thrown, with the pid of a holder if it is known.
 * - A closed lock throws `IO`.
 * - `release` is idempotent; a lock held with `using` is released at the end of its scope.
 */
export interface Lock {
  exclusive(waitMs: number): Promise<HeldLock>;
  shared(waitMs: number): Promise<HeldLock>;
  /** Closes the lock's files. Held locks are released. */
  close(): void;
}

export interface HeldLock extends Disposable {
  release(): void;
}
