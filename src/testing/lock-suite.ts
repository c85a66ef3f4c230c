import { afterEach, describe, expect, test } from "vitest";
import type { Lock } from "../storage/lock.ts";

/** Makes locks on the same thing: each call makes another object, as another process would have. */
export type LockMaker = () => Lock;

/** The contract of `Lock`. `begin` returns a maker of locks on a fresh thing. */
export function lockSuite(name: string, begin: () => LockMaker): void {
  describe(`${name}`, () => {
    const made: Lock[] = [];
    function locks(): [Lock, Lock] {
      const make = begin();
      const pair: [Lock, Lock] = [make(), make()];
      made.push(...pair);
      return pair;
    }
    afterEach(() => {
      for (const lock of made.splice(0)) lock.close();
    });

    test("an exclusive hold excludes all others", async () => {
      const [a, b] = locks();
      const held = await a.exclusive(0);
      await expect(b.exclusive(0)).rejects.toMatchObject({ code: "LOCKED" });
      await expect(b.shared(0)).rejects.toMatchObject({ code: "LOCKED" });
      await expect(a.shared(0)).rejects.toMatchObject({ code: "LOCKED" });
      await expect(a.exclusive(5)).rejects.toMatchObject({ code: "LOCKED" });
      held.release();
      (await b.exclusive(0)).release();
    });

    test("shared holds exclude an exclusive one until the last is released, but not each other", async () => {
      const [a, b] = locks();
      const first = await a.shared(0);
      const second = await a.shared(0);
      const third = await b.shared(0);
      await expect(b.exclusive(0)).rejects.toMatchObject({ code: "LOCKED" });
      first.release();
      third.release();
      await expect(b.exclusive(0)).rejects.toMatchObject({ code: "LOCKED" });
      second.release();
      (await b.exclusive(0)).release();
    });

    test("waiting ends soon after the release, and does not block the event loop", async () => {
      const [a, b] = locks();
      const held = await a.exclusive(0);
      let ticks = 0;
      const timer = setInterval(() => (ticks += 1), 1);
      setTimeout(() => held.release(), 40);
      const begun = performance.now();
      (await b.exclusive(5_000)).release();
      clearInterval(timer);
      expect(performance.now() - begun).toBeLessThan(1_000);
      expect(ticks).toBeGreaterThan(3);
    });

    test("waiting fails after waitMs, and leaves no hold", async () => {
      const [a, b] = locks();
      const held = await a.exclusive(0);
      const begun = performance.now();
      await expect(b.shared(30)).rejects.toMatchObject({ code: "LOCKED" });
      expect(performance.now() - begun).toBeGreaterThanOrEqual(28);
      held.release();
      (await a.exclusive(0)).release();
    });

    test("release is idempotent, and frees only its own hold", async () => {
      const [a, b] = locks();
      const first = await a.exclusive(0);
      first.release();
      const second = await a.exclusive(0);
      first.release();
      await expect(b.shared(0)).rejects.toMatchObject({ code: "LOCKED" });
      second.release();
      second[Symbol.dispose]();
      (await b.shared(0)).release();
    });

    test("using releases a hold", async () => {
      const [a, b] = locks();
      {
        using held = await a.exclusive(0);
        expect(held).toBeDefined();
      }
      (await b.exclusive(0)).release();
    });

    test("closing releases all holds; a closed lock refuses", async () => {
      const [a, b] = locks();
      await a.exclusive(0);
      a.close();
      a.close();
      (await b.exclusive(0)).release();
      await expect(a.exclusive(0)).rejects.toMatchObject({ code: "IO" });
    });

    test("requests on one object are served in order; a shared one does not overtake an exclusive one", async () => {
      const [a] = locks();
      const order: string[] = [];
      const held = await a.shared(0);
      const exclusive = a.exclusive(1_000).then((lock) => {
        order.push("exclusive");
        lock.release();
      });
      const shared = a.shared(1_000).then((lock) => {
        order.push("shared");
        lock.release();
      });
      held.release();
      await Promise.all([exclusive, shared]);
      expect(order).toEqual(["exclusive", "shared"]);
    });

    test("many exclusive requests are all served, one at a time", async () => {
      const [a, b] = locks();
      let inside = 0;
      let done = 0;
      const work = async (lock: Lock): Promise<void> => {
        using _held = await lock.exclusive(10_000);
        inside += 1;
        expect(inside).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
        inside -= 1;
        done += 1;
      };
      await Promise.all(Array.from({ length: 40 }, (_, i) => work(i % 2 === 0 ? a : b)));
      expect(done).toBe(40);
    });
  });
}
