/**
 * A lock that is released when its holder dies.
 *
 * Backends: `SqliteLock` (between processes) and `MemoryLock` (within one process). The kernel releases a `SqliteLock`
 * when its process ends, also after a crash.
 *
 * Contract
 * - `exclusive` waits for every other holder. `shared` waits only for an exclusive holder. The lock is not re-entrant.
 * - Requests of one object are served in their order: `shared` does not overtake an `exclusive` that waits.
 * - Waiting does not block the event loop. After `waitMs`, the request throws `LOCKED`, with the pid of a holder if the
 *   pid is known.
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
