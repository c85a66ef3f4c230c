import { ChronicleError } from "../../../core/values/errors.ts";
import { EMPTY_HEAD } from "../../../core/values/event.ts";
import { sha256 } from "../../../core/values/hash.ts";
import { asFatal } from "../../as-fatal.ts";
import type { Channel } from "../../channel.ts";
import { replicaHello } from "../../replica/replica-hello.ts";
import type { Timers } from "../../../util/timers.ts";
import { isRefusal } from "./connection-keeper.ts";
import { optional } from "../../../util/optional.ts";

/** What an origin says to somebody who asks whether a folder may follow it. */
export type OriginAnswer =
  /** The id of the workspace for which it answers. */
  | { readonly workspace: string }
  /** It would say the same again. */
  | { readonly refused: ChronicleError }
  /** Nobody knows: it was not reached, or did not answer in time. */
  | { readonly unknown: ChronicleError };

/** How an origin is asked. */
export interface OriginQuestion {
  readonly connect: (signal: AbortSignal) => Promise<Channel>;
  /** By id or name; left out: the origin's own. */
  readonly workspace?: string | undefined;
  readonly token?: string | undefined;
  readonly withProtected?: boolean | undefined;
  readonly timers: Timers;
  /** Nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** As long as a connection is waited for. */
const PATIENCE_MS = 8_000;

/**
 * Asks an origin for which workspace it answers, and follows nothing. It comes as a replica of its own, which takes and writes
 * nothing: one for each token, so that the origin does not remember ever more of them, and no other token's is in the way.
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
