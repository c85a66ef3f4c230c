import { describe, expect, it } from "vitest";
import { TurnSlices } from "./yield-to-event-loop.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("TurnSlices", () => {
  it("lets the given number of steps through in each turn, in order, and all of them in the end", async () => {
    const slices = new TurnSlices(3);
    const done: number[] = [];
    for (let i = 0; i < 8; i += 1) void slices.step().then(() => done.push(i));
    await Promise.resolve();
    expect(done).toEqual([0, 1, 2]);
    await turn();
    expect(done).toEqual([0, 1, 2, 3, 4, 5]);
    await turn();
    expect(done).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it("a caller that steps without end does not keep others from a turn", async () => {
    const slices = new TurnSlices(2);
    let steps = 0;
    let isOver = false;
    const greedy = (async () => {
      for (; !isOver; steps += 1) await slices.step();
    })();
    for (let i = 0; i < 5; i += 1) await turn();
    expect(steps).toBeGreaterThan(4);
    expect(steps).toBeLessThan(20);
    isOver = true;
    await greedy;
  });

  it("lets a step through at once again after a turn has passed", async () => {
    const slices = new TurnSlices(1);
    await slices.step();
    await turn();
    let isThrough = false;
    void slices.step().then(() => (isThrough = true));
    await Promise.resolve();
    expect(isThrough).toBe(true);
  });
});
