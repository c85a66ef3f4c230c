import { expect, it } from "vitest";
import type { Progress } from "../workspace-api.ts";
import { type Step, stepsOf } from "./steps.ts";

const events = (done: number, total = 3): Progress => ({ phase: "verify", done, total, unit: "events" });
const never = new AbortController().signal;

it("gives the progress, the end of each phase, and the result", async () => {
  const steps = await Array.fromAsync(
    stepsOf(({ onProgress }) => {
      for (const done of [1, 2, 3]) onProgress(events(done));
      onProgress({ phase: "verify", done: 7, total: 7, unit: "bytes" });
      return Promise.resolve("whole");
    }, never),
  );
  expect(steps).toEqual([
    { seq: 1, progress: events(3) },
    { seq: 2, progress: { phase: "verify", done: 7, total: 7, unit: "bytes" } },
    { seq: 3, result: "whole" },
  ]);
});

it("gives a slow reader the newest progress only, and one phase at most ten times a second", async () => {
  const read: Step<string>[] = [];
  const going = Promise.withResolvers<string>();
  const begun = Promise.withResolvers<(progress: Progress) => void>();
  const steps = stepsOf(({ onProgress }) => {
    begun.resolve(onProgress);
    return going.promise;
  }, never);
  const first = steps.next();
  const onProgress = await begun.promise;
  for (let done = 1; done <= 1_000; done += 1) onProgress(events(done, 1_000_000));
  read.push((await first).value as Step<string>);
  onProgress(events(1_000_000, 1_000_000));
  going.resolve("done");
  for await (const step of steps) read.push(step);
  expect(read).toEqual([
    { seq: 1, progress: events(1, 1_000_000) },
    { seq: 2, progress: events(1_000_000, 1_000_000) },
    { seq: 3, result: "done" },
  ]);
});

it("does not begin before it is read, and throws what the work throws", async () => {
  let begun = 0;
  const steps = stepsOf(() => Promise.reject(new Error(`failed ${(begun += 1)}`)), never);
  await Promise.resolve();
  expect(begun).toBe(0);
  await expect(steps.next()).rejects.toThrow("failed 1");
});

it("stops the work when the reader stops or the signal aborts, and ends without an error after the work", async () => {
  for (const how of ["reader", "signal"]) {
    const caller = new AbortController();
    let isOver = false;
    const steps = stepsOf(async ({ onProgress, signal }) => {
      onProgress(events(1));
      const { promise, resolve } = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => resolve());
      await promise;
      isOver = true;
      signal.throwIfAborted();
    }, caller.signal);
    expect((await steps.next()).value).toEqual({ seq: 1, progress: events(1) });
    if (how === "reader") await steps.return();
    else caller.abort();
    expect(await steps.next()).toEqual({ done: true, value: undefined });
    expect(isOver).toBe(true);
  }
});
