import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";

const MIB = 1024 ** 2;

let rig: FolderRig;
afterEach(() => rig.close());

/** Collects the reported bytes on the way until both sides are equal. */
async function toldUntilEqual(phase: string): Promise<{ readonly done: number; readonly total: number }[]> {
  const told: { readonly done: number; readonly total: number }[] = [];
  await rig.until(() => {
    const { progress, state, pending, lag } = rig.desk.sync.shape;
    if (progress?.phase === phase && progress.bytes !== undefined) told.push(progress.bytes);
    return told.length > 0 && state === "in-sync" && pending === 0 && lag === 0;
  });
  return told;
}

describe("Truth 30: a large file on its way", () => {
  it.each(["receiving", "sending"])(
    "is reported with its done and its total bytes until it has arrived (%s)",
    async (phase) => {
      rig = await FolderRig.start({ a: "1" });
      await rig.flush();
      rig.desk.frameMs = 20;
      // A content that compresses little.
      const content = randomBytes(12 * MIB).toString("base64");
      if (phase === "sending") rig.desk.edit("large", content);
      else await rig.during(rig.host.write("large", content));
      const told = await toldUntilEqual(phase);
      expect(told.every(({ total }) => total === 16 * MIB)).toBe(true);
      const parts = new Set(told.map(({ done }) => done).filter((done) => done > 0 && done < 16 * MIB));
      expect(parts.size).toBeGreaterThan(2);
      expect(rig.desk.sync.shape.progress).toBeUndefined();
      await rig.flush();
      expect(rig.desk.tree()["large"]).toBe(content);
      expect((await rig.during(rig.host.tree()))["large"]).toBe(content);
    },
  );
});
