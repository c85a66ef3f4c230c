import { ChronicleError, errnoOf, type ErrorCode } from "../core/values/errors.ts";
import type { Message } from "./protocol/messages.ts";

export interface ChannelEnd {
  /** The side that ended the channel; `transport` if the connection broke. */
  readonly by: "us" | "peer" | "transport";
  /** `undefined` if the channel ended normally. */
  readonly error: ChronicleError | undefined;
}

/**
 * A connection to one peer that carries messages in both directions. Each message arrives at most once.
 *
 * Flow control is by credit, in bytes. A *credited* message carries lines of a log, contents of files, or listings of
 * folders. Each side may send as many bytes of credited messages as the other side has granted. A side grants more
 * credit only as it consumes messages. Therefore, the number of bytes that a side must buffer is limited.
 *
 * All other messages are small and need no credit. They overtake waiting credited messages, so that an answer, a
 * heartbeat or an error is not delayed by missing credit.
 *
 * Credited messages arrive in the order of their `send` calls, and so do uncredited messages. A credited message never
 * overtakes an uncredited one.
 */
export interface Channel {
  /**
   * Sends a message. Resolves once the message has its credit and the transport has accepted the message, which may
   * then still be on its way to the peer. Rejects with `USAGE`, `PATH_INVALID` or `LIMIT_EXCEEDED` for a message that
   * the peer would refuse. The channel then stays open. Rejects with `UNAVAILABLE` once the channel has ended.
   *
   * The loop that receives messages must not await the sending of a credited message. Two peers that both did so would
   * deadlock.
   */
  send(message: Message): Promise<void>;

  /**
   * Yields the peer's messages. There may be only one consumer at a time. A message counts as consumed when the
   * consumer requests the next message. Ends when the channel has ended normally or this side has called `close`. If
   * the channel ended with an error, yields the messages that arrived before the error, and then throws the error.
   */
  receive(): AsyncIterable<Message>;

  /**
   * The number of bytes that have arrived, consumed or not. The bytes of an incomplete frame count, too. Therefore, the
   * number also grows while one long frame arrives.
   */
  readonly arrived: number;

  /** The number of bytes of credited messages that wait to be sent. */
  readonly pendingBytes: number;

  /**
   * Sends the peer the reason, if any, and closes the connection. Drops messages that wait to be sent, and received
   * messages that are not consumed. Further calls do nothing.
   */
  close(reason?: ChronicleError): void;

  /** Resolves when either side has ended the channel. Never rejects. */
  readonly ended: Promise<ChannelEnd>;
}

/** Moves bytes between two ends, in order and unchanged, as a socket does. */
export interface Wire {
  /**
   * Takes one frame. Resolves when there is room for the next frame. Rejects when this side has closed the wire, or
   * when the connection has broken. If the peer has closed normally, the wire may drop the frame and resolve, because a
   * rejection would end the channel before the peer's last bytes are read.
   */
  write(frame: Uint8Array): Promise<void>;

  /**
   * Yields the bytes that the other end writes, in pieces of any size. May be called only once. Ends when the other end
   * has closed normally. Throws if the connection breaks.
   */
  read(): AsyncIterable<Uint8Array>;

  /**
   * Closes the connection, either after all written bytes have left (`gently`) or without sending them (`at once`).
   * Further calls do nothing. Never throws. A transport that can give a reason for closing sends `code`.
   */
  close(how: "gently" | "at once", code?: ErrorCode): void;
}

/**
 * Returns the error with which a channel ends. An error that is not a `ChronicleError` becomes `IO`, with its errno.
 */
export function asFatal(error: unknown): ChronicleError {
  if (error instanceof ChronicleError) return error;
  const errno = errnoOf(error);
  return new ChronicleError("IO", `this side has failed${errno === undefined ? "" : ` (${errno})`}`, { cause: error });
}
