import { ChronicleError } from "../core/values/errors.ts";
import { ioTrouble } from "./io-trouble.ts";
import type { HeldLock, Lock } from "./lock.ts";

/**
 * This process's share in the lock between writers and the collector. Any number of leases ride on one shared lock, so
 * taking one while another is held cannot wait for a collector.
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

  /** A lease: until it is released no collector takes anything away. */
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

  /** The collector's turn: waits for every lease, of other processes too. */
  async exclusive(waitMs = this.#waitMs): Promise<HeldLock> {
    try {
      return await this.#lock.exclusive(waitMs);
    } catch (error) {
      throw ioTrouble(error, "taking the lock of the collector");
    }
  }

  /** The collector's turn if nobody holds a lease, or lets go of it within `waitMs`; else `undefined`. */
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
