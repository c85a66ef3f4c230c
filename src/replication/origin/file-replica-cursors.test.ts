import { describe, expect, it } from "vitest";
import { SimDisk } from "../../disk/sim-disk.ts";
import { sweepCrashes } from "../../testing/crash-sweep.ts";
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
      ["r1", 7],
      ["r2", 0],
    ]);
  });

  it("what was acknowledged is there, wherever it stops", async () => {
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

  it.each(["", "other\n", "chronicle replica cursors 1\nr1 x\n", "chronicle replica cursors 1\nr1 5"])(
    "refuses a file that is none: %j",
    (content) => {
      const disk = SimDisk.fromTree({
        "/o": { folder: 0o700 },
        [PATH]: { content: Buffer.from(content), mode: 0o600 },
      });
      expect(() => new FileReplicaCursors(disk, PATH)).toThrow(expect.objectContaining({ code: "LOG_DAMAGED" }));
    },
  );
});
