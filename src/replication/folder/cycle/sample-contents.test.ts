import { afterEach, describe, expect, it, vi } from "vitest";
import { FolderRig, writeSim } from "../../../testing/folder-rig.ts";
import { FOLDER } from "../../../testing/sync-machine.ts";

/** A folder with the same inode on another device is recognised by its contents, or is taken for another folder. */

let rig: FolderRig;
afterEach(() => rig.close());

const on = (dev: string) => ({ parts: { identity: () => ({ dev, ino: "2" }) } });

/** Closes the desk, changes its files, and starts it again with its folder on another device. */
async function moved(changed: Readonly<Record<string, string>>): Promise<void> {
  await rig.flush();
  await rig.during(rig.desk.close());
  for (const [name, content] of Object.entries(changed)) writeSim(rig.desk.disk, `${FOLDER}/${name}`, content);
  await rig.during(rig.desk.start(on("9").parts));
}

async function isKnown(): Promise<boolean> {
  await rig.until(() => ["halted", "in-sync"].includes(rig.desk.sync.shape.state));
  return rig.desk.sync.shape.halted === undefined;
}

const EMPTY = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`empty${10 + i}`, ""]));
const FULL = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`full${i}`, `content ${i}\n`]));
const OTHER = Object.fromEntries(Object.keys(FULL).map((name) => [name, "somebody else's\n"]));

describe("a folder that is on another device", () => {
  it("is recognised by its files", async () => {
    rig = await FolderRig.start({ ...EMPTY, ...FULL }, on("1"));
    await moved({});
    expect(await isKnown()).toBe(true);
  });

  it("is not recognised by its empty files if its other files differ", async () => {
    rig = await FolderRig.start({ ...EMPTY, ...FULL }, on("1"));
    await moved(OTHER);
    expect(await isKnown()).toBe(false);
    expect(rig.desk.sync.shape.halted).toBe("root-replaced");
  });

  it("is recognised by its empty files if it has no others", async () => {
    rig = await FolderRig.start(EMPTY, on("1"));
    await moved({});
    expect(await isKnown()).toBe(true);
  });

  it("is not read beyond the lengths that its files had", async () => {
    rig = await FolderRig.start(FULL, on("1"));
    const longer = Object.keys(FULL).map((name) => [name, "x".repeat(1024 ** 2)]);
    await rig.flush();
    const reads = vi.spyOn(rig.desk.disk, "read");
    await moved(Object.fromEntries(longer));
    expect(await isKnown()).toBe(false);
    const bytes = reads.mock.results.reduce((sum, { value }) => sum + Number(value), 0);
    // The capture reads each file once.
    expect(bytes).toBeLessThan(longer.length * 1024 ** 2 * 1.5);
  });
});
