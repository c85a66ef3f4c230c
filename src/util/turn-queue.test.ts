import { describe, expect, test } from "vitest";
import { type Leave, TurnQueue } from "./turn-queue.ts";

describe("TurnQueue", () => {
  test("a caller that gives up waiting lets the callers behind it through", async () => {
    const queue = new TurnQueue();
    const first = await queue.enter(false, 0);
    const exclusive = queue.enter(true, 20);
    const shared = queue.enter(false, 5_000);
    expect(await exclusive).toBeUndefined();
    const leave = await shared;
    expect(leave).toBeDefined();
    leave?.();
    first?.();
    expect(await queue.enter(true, 0)).toBeDefined();
  });

  test("all shared turns that wait in a row are admitted together", async () => {
    const queue = new TurnQueue();
    const first = await queue.enter(true, 0);
    const waiting = [1, 2, 3].map(() => queue.enter(false, 5_000));
    const last = queue.enter(true, 5_000);
    first?.();
    const shared: (Leave | undefined)[] = await Promise.all(waiting);
    expect(await queue.enter(false, 0)).toBeUndefined();
    for (const leave of shared) leave?.();
    expect(await last).toBeDefined();
  });

  test("a turn that is given back twice does not free another caller's turn", async () => {
    const queue = new TurnQueue();
    const first = await queue.enter(true, 0);
    first?.();
    await queue.enter(true, 0);
    first?.();
    expect(await queue.enter(true, 0)).toBeUndefined();
  });
});
