import { ChronicleError } from "../../core/values/errors.ts";
import { checkFrame, type Frame, encodeFrame, frameBytes, type FramePayload, FrameReader } from "../protocol/frame.ts";
import { INITIAL_CREDIT_BYTES, MAX_FRAME_BYTES } from "../protocol/limits.ts";
import type { Channel, ChannelEnd, Wire } from "../channel.ts";
import { decodeMessage, encodeMessage } from "../protocol/codec.ts";
import { isCredited, type Message, type MessageOf } from "../protocol/messages.ts";
import { errorFromMessage, errorToMessage, isOwnFailure } from "../protocol/wire-errors.ts";
import { NODE_TIMERS, type Timers } from "../../util/timers.ts";

export interface FramedChannelOptions {
  /** The maximum number of bytes of credited messages that may arrive before this side consumes them. Default 4 MiB. */
  readonly windowBytes?: number;
  /**
   * True if the wire delivers every frame exactly once and in order, as sockets do. A lost, repeated or reordered frame
   * then ends the channel. Default true; false in simulated networks.
   */
  readonly isReliable?: boolean;
  readonly timers?: Timers;
  /**
   * Called with each failure of this side that ends the channel, or that is passed to `close` after the channel's end.
   * Returns the id of the failure in the diagnostics. The peer gets this id instead of the failure's message. Default:
   * failures are not reported.
   */
  readonly onFailure?: (error: ChronicleError) => string;
}

const DEFAULT_WINDOW = 4 * 1024 ** 2;

/** The maximum number of bytes of uncredited messages that wait for the consumer. */
const MAX_UNCREDITED_BYTES = 2 * 1024 ** 2;

/**
 * The time, in ms, for which an ended channel waits until the peer has read the last message and closed the connection.
 */
const GOODBYE_MS = 5_000;

interface Outgoing {
  readonly payload: FramePayload;
  readonly credited: boolean;
  readonly resolve: () => void;
  readonly reject: (error: ChronicleError) => void;
}

interface Incoming {
  readonly message: Message;
  readonly frame: Frame;
  readonly credited: boolean;
}

/** A channel over any wire. */
export class FramedChannel implements Channel {
  readonly ended: Promise<ChannelEnd>;
  readonly #wire: Wire;
  readonly #isReliable: boolean;
  readonly #timers: Timers;
  readonly #onFailure: FramedChannelOptions["onFailure"];
  readonly #taker = new CreditTaker();
  readonly #giver: CreditGiver;
  readonly #urgent: Outgoing[] = [];
  readonly #credited: Outgoing[] = [];
  readonly #waiting: Incoming[] = [];
  readonly #announce: (end: ChannelEnd) => void;
  #arrived = 0;
  #uncreditedBytes = 0;
  #pendingBytes = 0;
  #isSending = false;
  #isReceiving = false;
  #end: ChannelEnd | undefined;
  #wake: (() => void) | undefined;
  #goodbye: Disposable | undefined;

  constructor(
    wire: Wire,
    { windowBytes = DEFAULT_WINDOW, isReliable = true, timers = NODE_TIMERS, onFailure }: FramedChannelOptions = {},
  ) {
    this.#onFailure = onFailure;
    this.#wire = wire;
    this.#timers = timers;
    this.#isReliable = isReliable;
    this.#giver = new CreditGiver(windowBytes);
    const { promise, resolve } = Promise.withResolvers<ChannelEnd>();
    this.ended = promise;
    this.#announce = resolve;
    void this.#readWire();
  }

  get arrived(): number {
    return this.#arrived;
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  async send(message: Message): Promise<void> {
    if (this.#end !== undefined) throw this.#unavailable();
    const payload = encodeMessage(message);
    // Check here, because an error in `#sendWaiting` would end the channel.
    checkFrame(payload);
    const credited = isCredited(message.type);
    if (credited) this.#pendingBytes += frameBytes(payload);
    await new Promise<void>((resolve, reject) => {
      (credited ? this.#credited : this.#urgent).push({ payload, credited, resolve, reject });
      void this.#sendWaiting();
    });
  }

  async *receive(): AsyncGenerator<Message, void> {
    if (this.#isReceiving) throw new ChronicleError("USAGE", "a channel has one consumer at a time");
    this.#isReceiving = true;
    try {
      for (;;) {
        const next = this.#waiting.shift();
        if (next !== undefined) {
          try {
            yield next.message;
          } finally {
            this.#consumed(next);
          }
        } else if (this.#end === undefined) await new Promise<void>((resolve) => (this.#wake = resolve));
        else if (this.#end.error === undefined || this.#end.by === "us") return;
        else throw this.#end.error;
      }
    } finally {
      this.#isReceiving = false;
    }
  }

  close(reason?: ChronicleError): void {
    if (this.#end !== undefined) {
      // The channel has ended, so the peer cannot get the reason. If the reason is a failure of this side, report it.
      if (reason !== undefined && reason !== this.#end.error && isOwnFailure(reason)) this.#onFailure?.(reason);
      return;
    }
    this.#waiting.length = 0;
    this.#finish({ by: "us", error: reason });
    void this.#sayGoodbye(reason);
  }

  #beginGoodbye(): void {
    this.#goodbye = this.#timers.after(GOODBYE_MS, () => this.#wire.close("at once"));
  }

  async #sayGoodbye(reason: ChronicleError | undefined): Promise<void> {
    this.#beginGoodbye();
    try {
      if (reason !== undefined) {
        const id = isOwnFailure(reason) ? this.#onFailure?.(reason) : undefined;
        const payload = encodeMessage(errorToMessage(reason, true, id));
        await this.#wire.write(encodeFrame(payload, this.#taker.sent));
      }
      this.#wire.close("gently", reason?.code);
    } catch {
      this.#wire.close("at once");
    }
  }

  #finish(end: ChannelEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    for (const waiting of [...this.#urgent.splice(0), ...this.#credited.splice(0)]) waiting.reject(this.#unavailable());
    this.#pendingBytes = 0;
    this.#announce(end);
    this.#wake?.();
  }

  #unavailable(): ChronicleError {
    const cause = this.#end?.error;
    const why = cause === undefined ? "" : `: ${cause.message}`;
    return new ChronicleError("UNAVAILABLE", `the connection has ended${why}`, cause === undefined ? {} : { cause });
  }

  /** Ends the channel because the peer has sent something wrong (`error`), and sends the error to the peer. */
  #refuse(error: ChronicleError): void {
    if (this.#end !== undefined) return;
    this.#finish({ by: "peer", error });
    void this.#sayGoodbye(error);
  }

  async #sendWaiting(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    let next = this.#next();
    try {
      for (; next !== undefined; next = this.#next()) {
        const { payload, credited } = next;
        const bytes = frameBytes(payload);
        if (credited) this.#taker.take(bytes);
        await this.#wire.write(encodeFrame(payload, this.#taker.sent));
        if (credited) this.#pendingBytes = Math.max(0, this.#pendingBytes - bytes);
        next.resolve();
      }
    } catch (error) {
      this.#broke(error);
      // `#finish` did not reject this message, because the message has left its queue.
      next?.reject(this.#unavailable());
    } finally {
      this.#isSending = false;
    }
  }

  #next(): Outgoing | undefined {
    return this.#urgent.shift() ?? (this.#taker.mayTake ? this.#credited.shift() : undefined);
  }

  #broke(cause: unknown): void {
    const why = cause instanceof Error ? cause.message : String(cause);
    const error = new ChronicleError("UNAVAILABLE", `the connection broke: ${why}`, { cause });
    this.#finish({ by: "transport", error });
    this.#wire.close("at once");
  }

  async #readWire(): Promise<void> {
    const reader = new FrameReader();
    try {
      for await (const piece of this.#wire.read()) {
        // Keep reading after the end of the channel. Closing a TCP socket with unread bytes would reset the connection.
        // The peer might then lose this side's last message, which gives the reason of the end.
        if (this.#end === undefined) this.#takePiece(reader, piece);
      }
    } catch (error) {
      return this.#broke(error);
    } finally {
      this.#goodbye?.[Symbol.dispose]();
    }
    if (!reader.isBetween) this.#broke(new Error("it ended in the middle of a frame"));
    this.#finish({ by: "peer", error: undefined });
    this.#wire.close("gently");
  }

  #takePiece(reader: FrameReader, piece: Uint8Array): void {
    this.#arrived += piece.length;
    try {
      for (const frame of reader.push(piece)) {
        this.#takeFrame(frame);
        if (this.#end !== undefined) return;
      }
    } catch (error) {
      if (!(error instanceof ChronicleError)) throw error;
      this.#refuse(error);
    }
  }

  #takeFrame(frame: Frame): void {
    const message = decodeMessage(frame);
    const credited = isCredited(message.type);
    this.#giver.arrived(frame, credited, this.#isReliable);
    if (message.type === "Credit") return this.#grant(message);
    if (message.type === "Error" && message.fatal) return this.#ended(message);
    if (!credited) {
      this.#uncreditedBytes += frame.bytes;
      if (this.#uncreditedBytes > MAX_UNCREDITED_BYTES) {
        throw new ChronicleError("LIMIT_EXCEEDED", "the other side sends requests faster than they are answered");
      }
    }
    this.#waiting.push({ message, frame, credited });
    this.#wake?.();
  }

  #grant({ limit }: MessageOf<"Credit">): void {
    this.#taker.granted(limit);
    void this.#sendWaiting();
  }

  #ended(message: MessageOf<"Error">): void {
    this.#finish({ by: "peer", error: errorFromMessage(message) });
    this.#beginGoodbye();
    this.#wire.close("gently");
  }

  #consumed({ frame, credited }: Incoming): void {
    if (!credited) this.#uncreditedBytes -= frame.bytes;
    const limit = this.#giver.consumed(frame, credited);
    if (limit === undefined || this.#end !== undefined) return;
    const grant: Message = { type: "Credit", limit };
    this.#urgent.push({
      payload: encodeMessage(grant),
      credited: false,
      resolve: () => undefined,
      reject: () => undefined,
    });
    void this.#sendWaiting();
  }
}

// Credit is counted in bytes of credited frames since the beginning of the connection. A grant names the limit for
// these bytes, so a repeated grant does no harm. Each frame names the bytes that were sent so far, so a lost frame is
// noticed at the next frame. A grant that may have been lost is sent again (`isStuck`). As long as a side has sent
// fewer bytes than the limit, it may send one more frame, even if that frame exceeds the limit.

class CreditTaker {
  #sent = 0;
  #limit = INITIAL_CREDIT_BYTES;

  get sent(): number {
    return this.#sent;
  }

  get mayTake(): boolean {
    return this.#sent < this.#limit;
  }

  take(bytes: number): void {
    this.#sent += bytes;
  }

  /** Takes a grant. Ignores a limit that is lower than the present one. */
  granted(limit: number): void {
    this.#limit = Math.max(this.#limit, limit);
  }
}

class CreditGiver {
  readonly #window: number;
  #limit = INITIAL_CREDIT_BYTES;
  /**
   * The limit before `#limit`. A peer that has stopped at this earlier limit may not have received the grant of
   * `#limit`.
   */
  #earlier = INITIAL_CREDIT_BYTES;
  #arrived = 0;
  #consumed = 0;
  /** The bytes of credited frames that have arrived and are not consumed. A frame that arrives twice counts twice. */
  #held = 0;

  constructor(windowBytes: number) {
    this.#window = windowBytes;
  }

  /**
   * Counts a frame that has arrived. Throws `LIMIT_EXCEEDED` if the other side had no credit for the frame, or if
   * repeated frames make too many bytes wait to be consumed. On a reliable wire, throws `INTEGRITY_VIOLATION` if the
   * frame's `sent` is not the `sent` of the previous frame plus the credited bytes of this frame.
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
   * Counts a frame as consumed. Returns the limit to grant to the peer: a new limit once half of the window is free
   * again, or the present limit if its grant may have been lost. Returns `undefined` if no grant is necessary.
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
