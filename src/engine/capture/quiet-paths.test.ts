import { beforeEach, describe, expect, it } from "vitest";
import type { WorkspacePath } from "../../core/values/path.ts";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import { longestWaitMs, QuietPaths } from "./quiet-paths.ts";

/**
 * A call of `onQuiet`: its time, its paths (`undefined` for everything), and whether they have waited the longest time.
 */
type Given = readonly [at: number, paths: readonly string[] | undefined, isLate: boolean];

let clock: VirtualClock;
let given: Given[];
let quiet: QuietPaths;

beforeEach(() => {
  clock = new VirtualClock();
  given = [];
  quiet = new QuietPaths({
    ...{ quietMs: 50, mostMs: 200, timers: clock },
    onQuiet: (paths, isLate) => given.push([clock.now, paths === undefined ? undefined : [...paths], isLate]),
  });
});

const hint = (...paths: string[]): void => quiet.hint(paths as WorkspacePath[]);

async function until(at: number): Promise<void> {
  await clock.run(at);
}

describe("paths that are being written", () => {
  it("are given out when they have become quiet, each on its own", async () => {
    hint("a", "b");
    await until(30);
    hint("b");
    await until(500);
    expect(given).toEqual([
      [50, ["a"], false],
      [80, ["b"], false],
    ]);
  });

  it("are given out once if they are named twice", async () => {
    hint("a", "a");
    await until(500);
    expect(given).toEqual([[50, ["a"], false]]);
  });

  it("are given out after the longest wait if they never become quiet, and are then waited for anew", async () => {
    for (let at = 0; at < 300; at += 20) {
      hint("log", ...(at === 100 ? ["b"] : []));
      await until(at + 20);
    }
    await until(1_000);
    expect(given).toEqual([
      [150, ["b"], false],
      [200, ["log"], true],
      [330, ["log"], false],
    ]);
  });

  it("are held until then, and are given back by `clear`", async () => {
    hint("a");
    expect(quiet.holds("a" as WorkspacePath)).toBe(true);
    quiet.hint(undefined);
    expect(quiet.clear()).toEqual({ paths: ["a"], isAll: true });
    expect(quiet.holds("a" as WorkspacePath)).toBe(false);
    await until(1_000);
    expect(given).toEqual([]);
  });

  it("may be everything", async () => {
    quiet.hint(undefined);
    await until(40);
    quiet.hint(undefined);
    await until(500);
    expect(given).toEqual([[90, undefined, false]]);
  });

  it("are waited for at most five seconds, or 20 times the quiet time if that is longer", () => {
    expect([5, 50, 1_000].map(longestWaitMs)).toEqual([5_000, 5_000, 20_000]);
  });
});
