import { expect, it } from "vitest";
import type { WorkspacePath } from "../../../core/values/path.ts";
import { VirtualClock } from "../../../testing/virtual-clock.ts";
import { Retries } from "./retries.ts";

it("waits from half a second to an hour, twice as long each time", async () => {
  const clock = new VirtualClock();
  const path = "a" as WorkspacePath;
  let due = false;
  using retries = new Retries(clock, () => (due = true));
  const waits: number[] = [];
  for (let attempt = 0; attempt < 25; attempt += 1) {
    const from = clock.now;
    due = false;
    retries.failed(path);
    expect(retries.isWaiting(path)).toBe(true);
    await clock.run(from + 7_200_000, () => due);
    waits.push(clock.now - from);
    if (attempt === 20) for (let more = 0; more < 2_000; more += 1) retries.failed(path);
  }
  expect(waits.slice(0, 4)).toEqual([500, 1_000, 2_000, 4_000]);
  expect(waits.slice(13)).toEqual(waits.slice(13).map(() => 3_600_000));
});
