import { expect, it } from "vitest";
import { ahead } from "./ahead.ts";

it("yields the results in the order of the items, and runs at most the given number at once", async () => {
  let going = 0;
  let most = 0;
  const work = async (item: number): Promise<number> => {
    going += 1;
    most = Math.max(most, going);
    await new Promise((done) => setTimeout(done, 10 - item));
    going -= 1;
    return item * 2;
  };
  expect(await Array.fromAsync(ahead([1, 2, 3, 4, 5, 6, 7], 3, work))).toEqual([2, 4, 6, 8, 10, 12, 14]);
  expect(most).toBe(3);
  expect(await Array.fromAsync(ahead([], 3, work))).toEqual([]);
});

it("throws the error of its work after it has yielded the results before it", async () => {
  const seen: number[] = [];
  const work = (item: number): Promise<number> =>
    item === 3 ? Promise.reject(new Error("three")) : Promise.resolve(item);
  await expect(async () => {
    for await (const one of ahead([1, 2, 3, 4], 4, work)) seen.push(one);
  }).rejects.toThrow("three");
  expect(seen).toEqual([1, 2]);
});
