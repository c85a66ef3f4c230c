import type { ChronicleError, ErrorCode } from "../core/values/errors.ts";
import type { Message } from "./protocol/messages.ts";

/** How a channel came to its end. */
export interface ChannelEnd {
  /** Who ended it; `transport`: the connection broke. */
  readonly by: "us" | "peer" | "transport";
  /** Why; undefined: in peace. */
  readonly error: ChronicleError | undefined;
}

/**
 * A conversation with one peer: messages both ways, in order, each at most once.
 *
 * Flow control is by credit, in bytes: each side may send so many bytes of *credited* messages (those that carry lines,
 * contents or listings) as the other has granted, and grants come as messages are consumed. So neither side ever holds
 * more than its own window for the other. All other messages are small; they need no credit and overtake those that wait,
 * so that an answer, a heartbeat or an error gets through a full channel.
 *
 * Order: credited messages arrive in the order of their `send` calls, the others as well; between the two kinds only a
 * later uncredited message may come before an earlier credited one.
 */
export interface Channel {
  /**
   * Sends a message; resolves once it has got its credit and the transport has taken it, which says nothing about its
   * arrival. Rejects with `USAGE`, `PATH_INVALID` or `LIMIT_EXCEEDED` for a message that the peer would refuse (the channel
   * stays open), and with `UNAVAILABLE` once the channel has ended.
   *
   * The loop that receives must not wait for a credited message to be sent: two peers that both do would wait for ever.
   */
  send(message: Message): Promise<void>;

  /**
   * What the peer sends, for one consumer at a time. A message counts as consumed when the next one is asked for. Ends
   * when the channel has ended in peace, or by `close`; otherwise throws its error, after what had arrived before.
   */
  receive(): AsyncIterable<Message>;

  /**
   * The number of bytes that have arrived, consumed or not, including those of an incomplete frame. While it grows, the other side
   * is alive, however long one frame takes.
   */
  readonly arrived: number;

  /** Bytes of credited messages that wait to be sent. */
  readonly pendingBytes: number;

  /**
   * Ends the channel: tells the peer why, if there is a reason, and closes the connection. What waits for credit is not
   * sent any more. Idempotent.
   */
  close(reason?: ChronicleError): void;

  /** Resolves when the channel has ended, whoever ended it. Never rejects. */
  readonly ended: Promise<ChannelEnd>;
}

/** Moves bytes between two ends, in order and unchanged, as a socket does. What a backend of `Channel` has to provide. */
export interface Wire {
  /**
   * Takes one frame; resolves when there is room for the next one. Rejects when this side has closed or the connection broke.
   * Where the other end has closed in peace the frame may go nowhere: what that end wrote before can still be read.
   */
  write(frame: Uint8Array): Promise<void>;

  /**
   * What the other end writes, in pieces of any size; asked for once. Ends when the other end has closed in peace; throws
   * when the connection broke.
   */
  read(): AsyncIterable<Uint8Array>;

  /**
   * Lets what was written leave, then closes; `at once`: drops it. Idempotent; never throws. A transport that can say why it
   * closes says the code; a peer learns it from the channel's last message, too.
   */
  close(how: "gently" | "at once", code?: ErrorCode): void;
}
