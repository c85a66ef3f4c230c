import { expect, it } from "vitest";
import { Arrivals } from "./cycle-loop.ts";

function arrivals(begin: { held: number; told: number }) {
  const at = { ...begin };
  return { at, of: new Arrivals({ held: () => at.held, told: () => at.told }) };
}

it("the first cycle waits for all events that the origin had, however long, and not for later ones", () => {
  const { at, of } = arrivals({ held: 0, told: 0 });
  for (let i = 0; i < 1_000; i += 1) expect(of.waitFor(true)).toBeGreaterThan(0);
  at.told = 5;
  expect(of.waitFor(true)).toBeGreaterThan(0);
  [at.held, at.told] = [4, 7];
  expect(of.waitFor(true)).toBeGreaterThan(0);
  at.held = 5;
  expect(of.waitFor(true)).toBeUndefined();
});

it("a later cycle does not wait for a few events", () => {
  expect(arrivals({ held: 10, told: 400 }).of.waitFor(false)).toBeUndefined();
});

it("a later cycle waits for many events, at most 300 times while they come, and 10 times if they do not", () => {
  const { at, of } = arrivals({ held: 10, told: 1_000_000 });
  let waits = 0;
  for (; of.waitFor(false) !== undefined; waits += 1) at.held += 10;
  expect(waits).toBe(300);
  waits = 0;
  for (; of.waitFor(false) !== undefined; waits += 1);
  expect(waits).toBe(10);
  [at.held, at.told] = [1_000, 1_400];
  expect(of.waitFor(false)).toBeUndefined();
});

it("a later cycle does not wait for events that are announced while it waits", () => {
  const { at, of } = arrivals({ held: 10, told: 2_000 });
  expect(of.waitFor(false)).toBeGreaterThan(0);
  [at.held, at.told] = [1_999, 9_000];
  expect(of.waitFor(false)).toBeGreaterThan(0);
  at.held = 2_000;
  expect(of.waitFor(false)).toBeUndefined();
  expect(of.waitFor(false)).toBeGreaterThan(0);
});
