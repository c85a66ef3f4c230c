import { ChronicleError } from "../core/values/errors.ts";
import { ioTrouble } from "./io-trouble.ts";
import type { HeldLock, Lock } from "./lock.ts";

/**
 * The leases of one blob store object. The first lease takes the lock between writers and the collector in shared mode.
 * The end of the last lease releases the lock. While a lease is held, a further lease never waits for a collector.
 */
export class GcLease {
  readonly #lock: Lock;
  readonly #waitMs: number;
  #count = 0;
  #held: HeldLock | undefined;
  #acquiring: Promise<HeldLock> | undefined;

  constructor(lock: Lock, waitMs: number) {
    this.#lock = lock;
    this.#waitMs = waitMs;
  }

  /** Takes a lease. No collector removes anything before the caller releases the lease. */
  async take(): Promise<HeldLock> {
    this.#count++;
    try {
      if (this.#held === undefined) {
        this.#acquiring ??= this.#lock.shared(this.#waitMs);
        this.#held = await this.#acquiring;
      }
    } catch (error) {
      this.#drop();
      throw ioTrouble(error, "taking the lock of the collector");
    } finally {
      this.#acquiring = undefined;
    }
    let open = true;
    const release = (): void => {
      if (open) this.#drop();
      open = false;
    };
    return { release, [Symbol.dispose]: release };
  }

  /**
   * Takes the lock exclusively: waits until all leases have ended, also the leases of other processes. Throws `LOCKED`
   * after `waitMs`.
   */
  async exclusive(waitMs = this.#waitMs): Promise<HeldLock> {
    try {
      return await this.#lock.exclusive(waitMs);
    } catch (error) {
      throw ioTrouble(error, "taking the lock of the collector");
    }
  }

  /**
   * Takes the lock exclusively. Returns `undefined` at once if this object holds a lease, and after `waitMs` if others
   * hold the lock.
   */
  async tryExclusive(waitMs: number): Promise<HeldLock | undefined> {
    if (this.#count > 0) return undefined;
    try {
      return await this.#lock.exclusive(waitMs);
    } catch (error) {
      if (error instanceof ChronicleError && error.code === "LOCKED") return undefined;
      throw ioTrouble(error, "taking the lock of the collector");
    }
  }

  close(): void {
    this.#lock.close();
  }

  #drop(): void {
    this.#count--;
    if (this.#count > 0) return;
    this.#held?.release();
    this.#held = undefined;
  }
}
