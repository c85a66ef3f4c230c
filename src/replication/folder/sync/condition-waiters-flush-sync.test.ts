import { expect, it } from "vitest";
import { VirtualClock } from "../../../testing/virtual-clock.ts";
import { flushSync, ConditionWaiters } from "./condition-waiters.ts";

/** Returns an active sync whose origin never answers a barrier. */
function withoutAnswer(clock: VirtualClock) {
  return {
    timers: clock,
    waiting: new ConditionWaiters(),
    session: () => ({ barrier: () => new Promise<number>(() => undefined) }),
    isActive: () => true,
    refuseIdle: () => undefined,
    look: async () => undefined,
    isQuiet: () => true,
    obstacle: () => ({ why: "much is on its way" }),
  };
}

it("a flush is refused after its timeout if the origin does not answer", async () => {
  const clock = new VirtualClock();
  let refused: unknown;
  flushSync(withoutAnswer(clock), { timeoutMs: 1_000 }).catch((error: unknown) => (refused = error));
  await clock.run(999);
  expect(refused).toBeUndefined();
  await clock.run(1_001);
  expect(refused).toMatchObject({ code: "REFUSED", message: expect.stringContaining("within 1000 ms: much is on") });
});

it("a flush ends at once when its signal is aborted", async () => {
  const clock = new VirtualClock();
  const leaving = new AbortController();
  let refused: unknown;
  flushSync(withoutAnswer(clock), { signal: leaving.signal }).catch((error: unknown) => (refused = error));
  await clock.run(10);
  leaving.abort(new Error("gone"));
  await clock.run(20);
  expect(refused).toEqual(new Error("gone"));
});
