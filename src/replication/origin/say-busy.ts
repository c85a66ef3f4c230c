import type { Channel } from "../channel.ts";
import type { Timers } from "../../util/timers.ts";

/**
 * Tells a replica that its `Hello` is being processed. Before `HelloAck`, the protocol allows only `Credit`. Therefore,
 * a grant of 0 bytes is sent.
 */
export async function sayBusy(channel: Channel): Promise<void> {
  await channel.send({ type: "Credit", limit: 0 });
}

/**
 * Repeats `sayBusy` until disposed, because opening a workspace may take longer than a replica waits without a message.
 */
export function keepSayingBusy(channel: Channel, timers: Timers, everyMs: number): Disposable {
  let next: Disposable;
  const say = (): void => {
    next = timers.after(everyMs, say);
    // The end of the channel is reported by whoever reads from it.
    sayBusy(channel).catch(() => undefined);
  };
  next = timers.after(everyMs, say);
  return { [Symbol.dispose]: () => next[Symbol.dispose]() };
}
