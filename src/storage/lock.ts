/**
 * A lock that is released when its holder dies.
 *
 * Backends: `SqliteLock` (an exclusive or shared transaction on a file that is never deleted: the kernel drops it when
 * the process ends, however it ends) and `MemoryLock` (within one process).
 *
 * Contract
 * - `exclusive` waits for every other holder, `shared` only for an exclusive one. Not re-entrant.
 * - Requests of one object are served in their order: `shared` does not overtake an `exclusive` that waits.
 * - Waiting never blocks the event loop. After `waitMs` it throws `LOCKED`, with the pid of a holder if it is known.
 * - A closed lock gives nothing: it throws `IO`.
 * - `release` is idempotent; a held lock is also released by `using`.
 */
export interface Lock {
  exclusive(waitMs: number): Promise<HeldLock>;
  shared(waitMs: number): Promise<HeldLock>;
  /** Closes the lock's files. Held locks are released. */
  close(): void;
}

/** A lock that is held. */
export interface HeldLock extends Disposable {
  release(): void;
}
