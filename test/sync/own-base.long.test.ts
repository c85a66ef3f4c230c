import { afterEach, describe, expect, it } from "vitest";
import type { Hash } from "../../src/core/values/hash.ts";
import { FolderRig } from "../../src/testing/folder-rig.ts";

/** A compaction at the origin names a base of all that is there. A replica that has all of it makes the base itself. */

let rig: FolderRig;
afterEach(() => rig.close());

const FILES = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`d${i % 7}/f${i}`, `content ${i}`]));

/** Lets the origin's next frames through, and notes what they are. */
function watched(): { readonly types: string[]; bytes: number } {
  const seen = { types: [] as string[], bytes: 0 };
  for (let i = 0; i < 2_000; i += 1) {
    rig.desk.damages.push((bytes) => {
      const frame = Buffer.from(bytes);
      const head = JSON.parse(frame.subarray(28, 28 + frame.readUInt32BE(8)).toString()) as { type: string };
      seen.types.push(head.type);
      seen.bytes += frame.length;
      return frame;
    });
  }
  return seen;
}

const CONTENTS = ["ContentFetchResponse", "BlocksResponse"];

describe.each([
  ["kept", false],
  ["dropped", true],
])("a compaction whose archive is %s", (_, dropArchive) => {
  it.each<[string, (compact: () => Promise<void>) => Promise<void>]>([
    ["that is connected", (compact) => compact()],
    [
      "that is away meanwhile",
      async (compact) => {
        rig.desk.cut();
        await compact();
        rig.desk.heal();
      },
    ],
    [
      "that has also missed other events",
      async (compact) => {
        if (dropArchive) return compact();
        rig.desk.cut();
        await rig.during(rig.host.write("late", "too late"));
        await rig.during(rig.host.write("d1/f1", undefined));
        await compact();
        rig.desk.heal();
      },
    ],
  ])("costs a replica %s no contents", async (__, doing) => {
    rig = await FolderRig.start(FILES);
    await rig.flush();
    await rig.during(rig.host.write("d0/f0", undefined));
    await rig.during(rig.host.workspace.records.upsert("note", { kept: true }));
    await rig.flush();
    let base = "" as Hash;
    const seen = watched();
    await doing(async () => {
      const done = await rig.during(rig.host.workspace.compact({ dropArchive }));
      base = (done.base ?? "") as Hash;
    });
    await rig.until(() => rig.desk.sync.shape.state !== "offline");
    await rig.flush();
    expect(seen.types.length).toBeGreaterThan(1);
    expect(seen.types.filter((type) => CONTENTS.includes(type))).toEqual([]);
    expect(seen.bytes).toBeLessThan(10_000);
    // A replica that lacks an event whose line is gone reconciles. Its copy of the log then begins behind the base.
    const isReconciled = seen.types.includes("TreeResponse");
    expect((await rig.desk.context.blobs.has([base])).has(base)).toBe(!isReconciled);
    await rig.during(rig.host.write("d2/f2", "on and on"));
    await rig.flush();
    expect(rig.desk.tree()).toEqual(await rig.during(rig.host.tree()));
  });
});
