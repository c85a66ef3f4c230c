import { expect, it } from "vitest";
import { lazily } from "./lazily.ts";

it("loads once for all callers, and again after a failure", async () => {
  let loads = 0;
  const get = lazily(async () => {
    loads += 1;
    if (loads === 1) throw new Error("too many open files");
    return loads;
  });
  const both = await Promise.allSettled([get(), get()]);
  expect([both.map(({ status }) => status), loads]).toEqual([["rejected", "rejected"], 1]);
  expect(await Promise.all([get(), get()])).toEqual([2, 2]);
  expect(await get()).toBe(2);
});
