import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { Channel } from "../channel.ts";
import { PROTOCOL_VERSION } from "../protocol/limits.ts";
import type { Message, MessageOf } from "../protocol/messages.ts";
import { isFromPeer } from "../protocol/wire-errors.ts";
import type { Mirror } from "./mirror.ts";
import { replicaHello } from "./replica-hello.ts";
import { optional } from "../../util/optional.ts";

export interface CommonEventParts {
  readonly connect: (signal: AbortSignal) => Promise<Channel>;
  readonly mirror: Pick<Mirror, "head" | "start" | "hashAt">;
  readonly sandboxId: string;
  /** The workspace, by id or name. */
  readonly workspace?: string;
  readonly token?: string;
  readonly signal: AbortSignal;
}

export interface CommonHistory {
  /** The seq of the last event that this replica holds. */
  readonly held: number;
  /** The seq of the origin's last event. */
  readonly origin: number;
  /**
   * The seq of the last event that both sides have. `undefined` if this event cannot be found: the origin has compacted
   * the event away, or the mirror starts after the event.
   */
  readonly common: number | undefined;
}

/**
 * Tells whether the origin has the event that `Hello` names:
 * - `same`: the origin has this event.
 * - `other`: the origin does not have this event.
 * - `unknown`: the reply does not show this, or the mirror does not know the hash of the event.
 */
type Answer = "same" | "other" | "unknown";

/**
 * Finds the last event that this replica and its origin have in common, by binary search. Each probe is one short
 * session, in which `Hello` names an event as the last one that this replica holds. The reply of the origin shows
 * whether the origin has this event. The reply is the head in `HelloAck`, the events after the named event, a
 * `FullResyncRequired`, or an error. Rejects if the origin cannot be reached, or refuses this replica.
 */
export async function findCommonEvent(parts: CommonEventParts): Promise<CommonHistory> {
  const { mirror } = parts;
  const held = mirror.head.seq;
  const last = await ask(parts, held);
  const { origin } = last;
  if (last.answer === "same") return { held, origin, common: held };
  // The last event that is known to be common. Event 0 is always common, because all histories begin empty.
  let confirmed = 0;
  let low = Math.max(0, mirror.start - 1);
  let high = Math.min(held - 1, origin);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const { answer } = await ask(parts, middle);
    if (answer === "other") high = middle - 1;
    else low = middle;
    if (answer === "same") confirmed = middle;
  }
  return { held, origin, common: low === confirmed ? low : undefined };
}

interface ProbeResult {
  readonly answer: Answer;
  readonly origin: number;
}

async function ask(parts: CommonEventParts, seq: number): Promise<ProbeResult> {
  const { mirror, connect, signal, sandboxId, workspace, token } = parts;
  const hash = seq === mirror.head.seq ? mirror.head.hash : await mirror.hashAt(seq);
  // A mirror that starts after an anchor does not know the hashes of earlier events.
  if (hash === undefined) return { answer: "unknown", origin: seq };
  const channel = await connect(signal);
  const leave = (): void => channel.close();
  signal.addEventListener("abort", leave);
  try {
    const hello = replicaHello({
      sandboxId,
      ...optional({ workspace, token }),
      upstream: { head: { seq, hash } },
    });
    await channel.send(hello);
    return await answerFrom(channel, { seq, hash });
  } finally {
    signal.removeEventListener("abort", leave);
    channel.close();
    await channel.ended;
  }
}

async function answerFrom(channel: Channel, { seq, hash }: { seq: number; hash: Hash | "" }): Promise<ProbeResult> {
  let origin: number | undefined;
  try {
    for await (const message of channel.receive()) {
      if (message.type === "HelloAck") {
        origin = welcomed(message);
        if (origin < seq) return { answer: "other", origin };
        if (origin === seq) return { answer: message.head.hash === hash ? "same" : "other", origin };
      } else if (origin !== undefined) {
        const answer = answerOf(message);
        if (answer !== undefined) return { answer, origin };
      }
    }
  } catch (error) {
    // If `Hello` names an event that the origin does not have, the origin ends the session with this error.
    const isOther = error instanceof ChronicleError && error.code === "INTEGRITY_VIOLATION" && isFromPeer(error);
    if (isOther && origin !== undefined) return { answer: "other", origin };
    throw error;
  }
  throw new ChronicleError("UNAVAILABLE", "the origin has ended the conversation without an answer");
}

function welcomed({ version, head }: MessageOf<"HelloAck">): number {
  if (version === PROTOCOL_VERSION) return head.sequence;
  throw new ChronicleError("FORMAT_UNSUPPORTED", `the origin speaks version ${version} of the protocol`);
}

/**
 * Returns the answer that a message gives about the event in `Hello`, or `undefined` if the message gives no answer.
 * The reason `too-far` shows that the origin has the event.
 */
function answerOf(message: Message): Answer | undefined {
  switch (message.type) {
    case "Notification":
    case "Rename":
    case "Events":
      return "same";
    case "FullResyncRequired":
      return message.reason === "diverged" ? "other" : message.reason === "compacted" ? "unknown" : "same";
    default:
      return undefined;
  }
}
