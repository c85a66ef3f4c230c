import type { Channel } from "../channel.ts";
import type { Timers } from "../timers.ts";

/**
 * Tells a replica that its `Hello` is being worked on. Before `HelloAck` nothing else may be sent than `Credit`, and one that grants
 * nothing new says just that.
 */
export async function sayBusy(channel: Channel): Promise<void> {
  await channel.send({ type: "Credit", limit: 0 });
}

/** Says so again and again until it is disposed of: opening a workspace may take longer than a replica waits for a word. */
export function keepSayingBusy(channel: Channel, timers: Timers, everyMs: number): Disposable {
  let next: Disposable;
  const say = (): void => {
    next = timers.after(everyMs, say);
    // A channel that has ended is noticed by whoever leads the conversation.
    sayBusy(channel).catch(() => undefined);
  };
  next = timers.after(everyMs, say);
  return { [Symbol.dispose]: () => next[Symbol.dispose]() };
}
