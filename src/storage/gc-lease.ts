import { ChronicleError } from "../core/values/errors.ts";
import { ioTrouble } from "./io-trouble.ts";
import type { HeldLock, Lock } from "./lock.ts";

/**
 * This process's share in the lock between writers and the collector. All leases share one shared lock, so taking one
 * while another is held never waits for a collector.
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

  /** Takes a lease. Until it is released, no collector removes anything. */
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

  /** Takes the lock as the collector: waits for every lease, also of other processes. */
  async exclusive(waitMs = this.#waitMs): Promise<HeldLock> {
    try {
      return await this.#lock.exclusive(waitMs);
    } catch (error) {
      throw ioTrouble(error, "taking the lock of the collector");
    }
  }

  /**
   * Takes the lock as the collector if nobody holds a lease, or all are released within `waitMs`; else returns
   * `undefined`.
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
