import { expect, it } from "vitest";
import { withBreaths } from "./yield-to-event-loop.ts";

async function* batches(count: number, size: number): AsyncGenerator<readonly number[], void> {
  for (let i = 0; i < count; i += 1) yield Array.from({ length: size }, () => i);
}

/** Counts the turns of the event loop that others had during the iteration. */
async function turnsDuring(given: AsyncIterable<readonly number[]>): Promise<{ turns: number; items: number }> {
  let [turns, items, isOver] = [0, 0, false];
  const count = (): void => {
    if (isOver) return;
    turns += 1;
    setImmediate(count);
  };
  setImmediate(count);
  for await (const batch of withBreaths(given)) items += batch.length;
  isOver = true;
  return { turns, items };
}

it("yields all items, and leaves turns to others only if the items are many", async () => {
  expect(await turnsDuring(batches(10, 100))).toEqual({ turns: 0, items: 1_000 });
  const much = await turnsDuring(batches(100, 512));
  expect(much.items).toBe(51_200);
  expect(much.turns).toBeGreaterThan(8);
});
