import { expect, test, vi } from "vitest";
import { ProcessLoad } from "./process-load.ts";

const FREE = { watchUse: () => ({ open: 0, most: 100 }) };

/** Makes so much garbage that V8 does a full garbage collection. */
function makeGarbage(): void {
  for (let i = 0; i < 200; i += 1) Array.from({ length: 50_000 }, () => ({}));
}

test("more than half of the watches that the user may have are too much", () => {
  let open = 100;
  using load = new ProcessLoad({ watchUse: () => ({ open, most: 100 }) }, Infinity);
  expect(load.isTooMuch).toBe(false);
  open += 1;
  expect(load.isTooMuch).toBe(true);
});

test("memory in use after a full collection is too much, and is measured anew after a relief", async () => {
  using load = new ProcessLoad(FREE, 1);
  expect(load.isTooMuch).toBe(false);
  await vi.waitFor(
    () => {
      makeGarbage();
      expect(load.isTooMuch).toBe(true);
    },
    { timeout: 60_000 },
  );
  load.noteRelief();
  expect(load.isTooMuch).toBe(false);
});

test("much garbage is not too much", async () => {
  using load = new ProcessLoad(FREE, 2 * 1024 ** 3);
  makeGarbage();
  await new Promise((done) => setTimeout(done, 50));
  expect(load.isTooMuch).toBe(false);
});
