import { describe, expect, it } from "vitest";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { sweepCrashes } from "../../testing/crash-sweep.ts";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import { MOST_HELD } from "./replica-cursors.ts";
import { FileReplicaCursors } from "./file-replica-cursors.ts";

const PATH = "/o/replicas";
const newDisk = () => SimDisk.fromTree({ "/o": { folder: 0o700 } });

describe("FileReplicaCursors", () => {
  it("only move forward", () => {
    const disk = newDisk();
    const cursors = new FileReplicaCursors(disk, PATH);
    expect(cursors.get("r1")).toBeUndefined();
    for (const seq of [3, 7, 5]) cursors.advance("r1", seq);
    cursors.advance("r2", 0);
    const again = new FileReplicaCursors(disk.crash("forget"), PATH);
    expect(again.list()).toEqual([
      ["r1", { sequence: 7 }],
      ["r2", { sequence: 0 }],
    ]);
  });

  it("keep the holder of a replica at once, whatever the holder's name, and when the cursor moves", () => {
    const disk = newDisk();
    const late = { timers: new VirtualClock(), ms: 1_000 };
    const cursors = new FileReplicaCursors(disk, PATH, { delay: late });
    cursors.advance("r1", 3);
    cursors.hold("r1", "oidc:mina müller\n%");
    cursors.hold("r2", "token:1");
    cursors.hold("r2", "token:2");
    const again = new FileReplicaCursors(disk.crash("forget"), PATH);
    expect([again.holder("r1"), again.holder("r2"), again.holder("r3")]).toEqual([
      "oidc:mina müller\n%",
      "token:2",
      undefined,
    ]);
    again.advance("r1", 9);
    // The replica that was seen most recently is last.
    expect(again.list().at(-1)).toEqual(["r1", { sequence: 9, holder: "oidc:mina müller\n%" }]);
  });

  it("forget the replicas of a holder with too many that were not seen for the longest time, and no other holder's", () => {
    const disk = newDisk();
    const told: string[] = [];
    const late = { timers: new VirtualClock(), ms: 1_000 };
    const cursors = new FileReplicaCursors(disk, PATH, { delay: late, onDropped: (holder) => told.push(holder) });
    cursors.hold("theirs", "token:2");
    for (let i = 0; i < MOST_HELD; i += 1) cursors.hold(`r${i}`, "token:1");
    expect(told).toEqual([]);
    // The replica is seen, but its cursor does not move.
    cursors.advance("r0", 0);
    for (const id of ["new1", "new2"]) cursors.hold(id, "token:1");
    expect(told).toEqual(["token:1"]);
    const again = new FileReplicaCursors(disk.crash("forget"), PATH);
    const holders = ["theirs", "r0", "r1", "r2", "r3", "new1", "new2"].map((id) => again.holder(id));
    expect(holders).toEqual(["token:2", "token:1", undefined, undefined, "token:1", "token:1", "token:1"]);
    expect(again.list()).toHaveLength(MOST_HELD + 1);
    // Cursors that were read from the file are limited with the next write, too.
    again.hold("r1", "token:1");
    expect(again.list()).toHaveLength(MOST_HELD + 1);
    expect(again.holder("r3")).toBeUndefined();
  });

  it("count a replica that moves to another holder for that holder", () => {
    const cursors = new FileReplicaCursors(newDisk(), PATH, { delay: { timers: new VirtualClock(), ms: 1_000 } });
    for (let i = 0; i < MOST_HELD; i += 1) cursors.hold(`r${i}`, "token:1");
    cursors.hold("other", "token:2");
    cursors.hold("other", "token:1");
    expect([cursors.holder("r0"), cursors.holder("other")]).toEqual([undefined, "token:1"]);
  });

  it("read a file that was written before there were holders", () => {
    const content = Buffer.from("chronicle replica cursors 1\nr1 5\n");
    const disk = SimDisk.fromTree({ "/o": { folder: 0o700 }, [PATH]: { content, mode: 0o600 } });
    const cursors = new FileReplicaCursors(disk, PATH);
    expect([cursors.get("r1"), cursors.holder("r1")]).toEqual([5, undefined]);
    cursors.hold("r1", "owner");
    expect(new FileReplicaCursors(disk, PATH).list()).toEqual([["r1", { sequence: 5, holder: "owner" }]]);
  });

  it("write what a full disk refused once there is room, and fail no caller meanwhile", async () => {
    const disk = newDisk();
    const clock = new VirtualClock();
    const failures: unknown[] = [];
    const onFailed = (error: unknown): void => void failures.push(error);
    const delay = { timers: clock, ms: 10 };
    using cursors = new FileReplicaCursors(disk, PATH, { delay, onFailed });
    disk.plan = ({ reads }) => (reads ? "go" : { errno: "ENOSPC" });
    cursors.advance("r1", 5);
    await clock.run(1_000);
    cursors.advance("r1", 6);
    await clock.run(2_000);
    expect(failures).toMatchObject([{ code: "ENOSPC" }]);
    disk.plan = undefined;
    await clock.run(3_000);
    expect(new FileReplicaCursors(disk, PATH).get("r1")).toBe(6);
  });

  it("keep every acknowledged move after a crash at any point", async () => {
    await sweepCrashes<number>({
      prepare: newDisk,
      run: (disk, acknowledge) => {
        for (const seq of [1, 2, 3]) {
          new FileReplicaCursors(disk, PATH).advance("r1", seq);
          acknowledge(seq);
        }
      },
      check: (disk, { acknowledged }) => {
        const found = new FileReplicaCursors(disk, PATH).get("r1") ?? 0;
        expect(found).toBeGreaterThanOrEqual(acknowledged.at(-1) ?? 0);
      },
    });
  });

  it.each([
    "",
    "other\n",
    "chronicle replica cursors 1\nr1 x\n",
    "chronicle replica cursors 2\nr1 5 %zz\n",
    "chronicle replica cursors 1\nr1 5",
  ])("refuse a file that is not a whole file of cursors: %j", (content) => {
    const disk = SimDisk.fromTree({
      "/o": { folder: 0o700 },
      [PATH]: { content: Buffer.from(content), mode: 0o600 },
    });
    expect(() => new FileReplicaCursors(disk, PATH)).toThrow(expect.objectContaining({ code: "LOG_DAMAGED" }));
  });
});
