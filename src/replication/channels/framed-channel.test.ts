import { expect, it } from "vitest";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import type { Wire } from "../channel.ts";
import { encodeMessage } from "../protocol/codec.ts";
import { encodeFrame } from "../protocol/frame.ts";
import { FramedChannel } from "./framed-channel.ts";

it("a peer that sends a fatal error and does not close the connection is disconnected after a while", async () => {
  const farewell = encodeMessage({ type: "Error", code: "LIMIT_EXCEEDED", message: "so much", fatal: true });
  const closes: string[] = [];
  const wire: Wire = {
    write: async () => undefined,
    async *read() {
      yield encodeFrame(farewell, 0);
      await new Promise(() => undefined);
    },
    close: (how) => void closes.push(how),
  };
  const clock = new VirtualClock();
  const channel = new FramedChannel(wire, { timers: clock });
  expect(await channel.ended).toMatchObject({ by: "peer", error: { code: "LIMIT_EXCEEDED" } });
  expect(closes).toEqual(["gently"]);
  await clock.run(10_000);
  expect(closes).toEqual(["gently", "at once"]);
});
