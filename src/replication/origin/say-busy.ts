import type { Channel } from "../channel.ts";
import type { Timers } from "../../util/timers.ts";

/**
 * Tells a replica that its `Hello` is being processed. Sends a grant of 0 bytes, because the only message that the
 * protocol allows before `HelloAck` is `Credit`.
 */
export async function sayBusy(channel: Channel): Promise<void> {
  await channel.send({ type: "Credit", limit: 0 });
}

/**
 * Calls `sayBusy` every `everyMs` ms until disposed. A replica that receives no message gives up after a while, and
 * opening a workspace can take longer.
 */
export function keepSayingBusy(channel: Channel, timers: Timers, everyMs: number): Disposable {
  let next: Disposable;
  const say = (): void => {
    next = timers.after(everyMs, say);
    // Ignore the error, because the reader of the channel reports the end of the channel.
    sayBusy(channel).catch(() => undefined);
  };
  next = timers.after(everyMs, say);
  return { [Symbol.dispose]: () => next[Symbol.dispose]() };
}
