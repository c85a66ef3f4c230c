import { afterEach, describe, expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";

let rig: FolderRig;
afterEach(() => rig.close());

/** A name that is not sent, because some systems read it as absolute. */
const NAME = "C:\\x";

/**
 * Counts from now on how often all files of the folder's own history are read. Returns a function that gives the count.
 */
function countWholeReads(): () => number {
  const { index } = rig.desk.context;
  const entriesAt = index.entriesAt.bind(index);
  let count = 0;
  index.entriesAt = (seq, beneath) => {
    if (beneath === undefined) count += 1;
    return entriesAt(seq, beneath);
  };
  return () => count;
}

describe("Truth 30: a path that is rejected at the replica itself, of which the origin never hears", () => {
  it("is rejected once, and a later connection finds nothing to be done", async () => {
    rig = await FolderRig.start({ a: "1" });
    await rig.flush();
    const { desk } = rig;
    const rejections = (): number => desk.happened.filter((one) => one.kind === "pushed" && one.rejected > 0).length;
    for (const content of ["one", "two"]) {
      desk.edit(NAME, content);
      await rig.flush();
      expect(desk.sync.shape.refused).toMatchObject([
        { path: NAME, reason: "path", why: expect.stringContaining("cannot be sent"), hint: "rename it here" },
      ]);
      const before = rejections();
      const { seq } = await desk.context.index.head();
      await rig.pass(3_000);
      const wholeReads = countWholeReads();
      for (let times = 0; times < 3; times += 1) {
        desk.cut();
        await rig.pass(3_000);
        desk.heal();
        await rig.until(() => desk.sync.shape.state === "in-sync");
      }
      expect([rejections() - before, wholeReads()]).toEqual([0, 0]);
      expect((await desk.context.index.head()).seq - seq).toBeLessThanOrEqual(1);
      expect(desk.sync.shape.refused).toMatchObject([{ path: NAME, reason: "path" }]);
    }
  });
});
