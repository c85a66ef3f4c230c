import { ChronicleError } from "../../core/values/errors.ts";
import type { Frame } from "../protocol/frame.ts";
import { INITIAL_CREDIT_BYTES, MAX_FRAME_BYTES } from "../protocol/limits.ts";

/**
 * Credit is counted from the beginning of a connection, in bytes of credited frames. So a grant that is lost or comes
 * twice does no harm, and a lost frame is found by the next one's count. A frame may be sent while fewer bytes than the
 * limit were sent: the last one may exceed it, by at most its own length.
 */

/** Tracks what this side may send. */
export class CreditTaker {
  #sent = 0;
  #limit = INITIAL_CREDIT_BYTES;

  /** Bytes of credited frames that were sent. */
  get sent(): number {
    return this.#sent;
  }

  get mayTake(): boolean {
    return this.#sent < this.#limit;
  }

  take(bytes: number): void {
    this.#sent += bytes;
  }

  /** Sets the other side's limit; ignores a lower one than before. */
  granted(limit: number): void {
    this.#limit = Math.max(this.#limit, limit);
  }
}

/** Tracks what the other side may send. */
export class CreditGiver {
  readonly #window: number;
  #limit = INITIAL_CREDIT_BYTES;
  /** The limit before the present one: a peer that has sent exactly this much may not have received the present one. */
  #earlier = INITIAL_CREDIT_BYTES;
  #arrived = 0;
  #consumed = 0;
  /** Bytes that have arrived and are not consumed: more than the window only if frames come twice. */
  #held = 0;

  constructor(windowBytes: number) {
    this.#window = windowBytes;
  }

  /**
   * Notes an arrived frame. Throws `LIMIT_EXCEEDED` if the other side had no credit for it, and, on a reliable wire,
   * `INTEGRITY_VIOLATION` if its count does not follow the frame before.
   */
  arrived({ sent, bytes }: Frame, credited: boolean, isReliable: boolean): void {
    const own = credited ? bytes : 0;
    if (isReliable && sent !== this.#arrived + own) {
      throw new ChronicleError("INTEGRITY_VIOLATION", "a frame was lost, repeated or put out of its order");
    }
    this.#held += own;
    const most = Math.max(this.#window, INITIAL_CREDIT_BYTES) + MAX_FRAME_BYTES;
    if ((credited && sent - own >= this.#limit) || this.#held > 2 * most) {
      throw new ChronicleError("LIMIT_EXCEEDED", "the other side sends more than it has credit for");
    }
    this.#arrived = Math.max(this.#arrived, sent);
  }

  /**
   * Notes that a frame was consumed. Returns the new limit once half of the window is free again, or repeats it in case
   * it was lost.
   */
  consumed({ sent, bytes }: Frame, credited: boolean): number | undefined {
    if (credited) this.#held -= bytes;
    this.#consumed = Math.max(this.#consumed, sent);
    const limit = this.#consumed + this.#window;
    if (limit - this.#limit < this.#window / 2) {
      const isStuck = !credited && sent >= this.#earlier && sent < this.#limit && this.#earlier < this.#limit;
      return isStuck ? this.#limit : undefined;
    }
    this.#earlier = this.#limit;
    this.#limit = limit;
    return limit;
  }
}
