import { expect, test } from "vitest";
import { ChronicleError } from "../../../core/values/errors.ts";
import { VirtualClock } from "../../../testing/virtual-clock.ts";
import { ConnectionKeeper } from "./connection-keeper.ts";

test("a stop that is called while the link is reported as offline does not wait for another attempt", async () => {
  const clock = new VirtualClock();
  let stopped: Promise<void> | undefined;
  let isStopped = false;
  const keeper = new ConnectionKeeper({
    connect: () => Promise.reject(new ChronicleError("UNAVAILABLE", "the origin is away")),
    begin: () => {
      throw new Error("there is no channel");
    },
    timers: clock,
    random: () => 1,
    isFinal: () => false,
    onChange: () => {
      stopped ??= keeper.stop().then(() => void (isStopped = true));
    },
  });
  keeper.start();
  expect(await clock.run(50, () => isStopped)).toBe(true);
  await stopped;
  expect(keeper.state).toBe("ended");
});
