import { afterEach, describe, expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";

/** All times are of the simulated clock, so that the speed of the machine does not matter. */

let rig: FolderRig;
afterEach(() => rig.close());

/** The longest that a dead connection may go unnoticed, and that both sides may differ after the network works again, in ms. */
const LIMIT_MS = 10_000;

/** Starts an origin and a desk that are in sync, with the default heartbeat of the product. */
async function follow(): Promise<void> {
  rig = new FolderRig();
  rig.host.heartbeatMs = undefined;
  await rig.during(rig.host.open());
  await rig.during(rig.host.write("a", "1"));
  await rig.during(rig.desk.start());
  await rig.flush();
}

/** Resolves to the simulated time that passes until it is so. */
async function timeUntil(isSo: () => boolean): Promise<number> {
  const from = rig.clock.now;
  await rig.until(isSo);
  return rig.clock.now - from;
}

const isOffline = (): boolean => rig.desk.sync.shape.state === "offline";

describe("Truth 30: a dead link", () => {
  // The connection dies at any time between two heartbeats.
  it.each([0, 700, 1_400, 1_999, 2_001, 3_500, 4_999])(
    "is offline with the reason within 10 s on both sides, %i ms after a heartbeat",
    async (afterMs) => {
      await follow();
      await rig.pass(20_000 + afterMs);
      for (const end of ["a", "b"] as const) rig.desk.silent.add(end);
      const died = rig.clock.now;
      expect(await timeUntil(isOffline)).toBeLessThanOrEqual(LIMIT_MS);
      const { reason, hint } = rig.desk.sync.shape;
      expect(reason).toMatch(/the origin has sent nothing for \d+ s/);
      expect(hint).toMatch(/tries again/);
      await rig.until(() => rig.host.conversations === 0 || rig.clock.now > died + LIMIT_MS);
      expect(rig.host.conversations).toBe(0);
    },
  );

  it.each(["a", "b"] as const)("that is dead one way only (%s) is offline within 10 s, too", async (end) => {
    await follow();
    await rig.pass(21_000);
    rig.desk.silent.add(end);
    expect(await timeUntil(isOffline)).toBeLessThanOrEqual(LIMIT_MS);
    expect(rig.desk.sync.shape.reason).toMatch(/sent nothing for \d+ s/);
  });

  it("is offline as long as it is dead, whatever is tried meanwhile", async () => {
    await follow();
    for (const end of ["a", "b"] as const) rig.desk.silent.add(end);
    await rig.until(isOffline);
    for (let second = 0; second < 90; second += 1) {
      await rig.pass(1_000);
      expect(rig.desk.sync.shape).toMatchObject({ state: "offline", reason: expect.stringMatching(/./) });
    }
  });

  it.each([
    ["in which nothing arrives", "silent"],
    ["in which nobody answers", "refused"],
  ] as const)("both sides are equal within 10 s after an outage of any length %s", async (_, how) => {
    await follow();
    const late: string[] = [];
    for (const seconds of [1, 3, 5, 7, 8, 9, 11, 13, 16, 19, 20, 23, 28, 39, 61]) {
      await rig.pass(1_300);
      if (how === "silent") for (const end of ["a", "b"] as const) rig.desk.silent.add(end);
      else rig.desk.cut();
      rig.desk.edit("here", `desk ${seconds}`);
      await rig.during(rig.host.write("there", `origin ${seconds}`));
      await rig.pass(seconds * 1_000);
      rig.desk.silent.clear();
      rig.desk.heal();
      const tree = { a: "1", here: `desk ${seconds}`, there: `origin ${seconds}` };
      const isEqual = async (): Promise<boolean> => {
        const both = [rig.desk.tree(), await rig.during(rig.host.tree())];
        return both.every((one) => JSON.stringify(one) === JSON.stringify(tree));
      };
      const healed = rig.clock.now;
      while (!(await isEqual()) && rig.clock.now < healed + 60_000) await rig.pass(250);
      await rig.until(() => rig.desk.sync.shape.state === "in-sync");
      const took = rig.clock.now - healed;
      if (took > LIMIT_MS) late.push(`${seconds} s: ${took} ms`);
    }
    expect(late).toEqual([]);
  });

  it("a change whose answer is lost is pending for 4 s at most, although the connection continues", async () => {
    await follow();
    await rig.pass(20_500);
    rig.desk.lost.add("WriteBackResult");
    rig.desk.edit("here", "1");
    await rig.until(() => rig.desk.lost.size === 0);
    await rig.pass(500);
    expect(rig.desk.sync.shape).toMatchObject({ lag: 0, pending: 1 });
    expect(await timeUntil(() => rig.desk.sync.shape.pending === 0)).toBeLessThanOrEqual(4_000);
    await rig.until(() => rig.desk.sync.shape.state === "in-sync");
  });
});
