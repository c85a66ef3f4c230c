import { ChronicleError } from "../../../core/values/errors.ts";
import { EMPTY_HEAD } from "../../../core/values/event.ts";
import { sha256 } from "../../../core/values/hash.ts";
import { asFatal } from "../../as-fatal.ts";
import type { Channel } from "../../channel.ts";
import { replicaHello } from "../../replica/replica-hello.ts";
import type { Timers } from "../../../util/timers.ts";
import { isRefusal } from "./connection-keeper.ts";
import { optional } from "../../../util/optional.ts";

/** An origin's answer to the question whether a folder may follow it. */
export type OriginAnswer =
  /** The id of the workspace that it answers for. */
  | { readonly workspace: string }
  /** It would refuse again. */
  | { readonly refused: ChronicleError }
  /** The answer is unknown: the origin was not reached, or did not answer in time. */
  | { readonly unknown: ChronicleError };

/** The question to an origin. */
export interface OriginQuestion {
  readonly connect: (signal: AbortSignal) => Promise<Channel>;
  /** The workspace, by id or name; default: the origin's own. */
  readonly workspace?: string | undefined;
  readonly token?: string | undefined;
  readonly withProtected?: boolean | undefined;
  readonly timers: Timers;
  /** Aborts when the caller no longer waits for the answer. */
  readonly signal: AbortSignal;
}

/** The time to wait for the answer, as for a connection. */
const PATIENCE_MS = 8_000;

/**
 * Asks an origin which workspace it answers for, without following it. It connects as a replica of its own, which takes
 * and writes nothing: one for each token, so that the origin does not remember ever more of them, and other tokens do
 * not interfere.
 */
export async function askOrigin({ connect, timers, signal, ...asked }: OriginQuestion): Promise<OriginAnswer> {
  const enough = new AbortController();
  using _late = timers.after(PATIENCE_MS, () => enough.abort());
  let channel: Channel | undefined;
  try {
    channel = await connect(AbortSignal.any([signal, enough.signal]));
    const { token, withProtected, workspace } = asked;
    await channel.send(
      replicaHello({
        sandboxId: `asks-${sha256(token ?? "").slice(0, 32)}`,
        upstream: { head: EMPTY_HEAD },
        withProtected,
        ...optional({ asked: workspace }),
      }),
    );
    for await (const message of channel.receive()) {
      if (message.type === "HelloAck") return { workspace: message.workspace };
    }
    return { unknown: unanswered() };
  } catch (cause) {
    const error = asFatal(cause);
    return isRefusal({ stage: "asking", error }) ? { refused: error } : { unknown: error };
  } finally {
    channel?.close();
  }
}

function unanswered(): ChronicleError {
  return new ChronicleError("UNAVAILABLE", "the origin has not answered");
}
