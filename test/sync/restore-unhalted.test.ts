import { afterEach, describe, expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";

/** `sync resume --restore-files` puts back what a sync is halted for, and nothing that people have deleted on purpose. */

const FILES = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`f${10 + i}`, `content ${i}\n`]));
const OTHERS = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`g${10 + i}`, `other ${i}\n`]));

let rig: FolderRig;
afterEach(() => rig.close());

const hostTree = () => rig.during(rig.host.tree());

/** Thirty files are deleted on both sides. */
async function deleted(): Promise<void> {
  rig = await FolderRig.start({ ...FILES, ...OTHERS });
  await rig.flush();
  for (const name of Object.keys(FILES)) rig.desk.edit(name, undefined);
  await rig.flush();
  expect(await hostTree()).toEqual(OTHERS);
}

async function nothingBack(): Promise<void> {
  await rig.pass(10_000);
  await rig.flush();
  expect(rig.desk.tree()).toEqual(OTHERS);
  expect(await hostTree()).toEqual(OTHERS);
}

describe("resume --restore-files", () => {
  it("is refused if the sync is not halted, and the sync continues", async () => {
    await deleted();
    await expect(rig.during(rig.desk.sync.resume({ accept: "restore" }))).rejects.toMatchObject({
      code: "REFUSED",
      message: expect.stringContaining("not halted") as string,
      hint: expect.stringMatching(/`chronicle undo --file PATH`.*`chronicle restore MOMENT PATH`/) as string,
    });
    await nothingBack();
    rig.desk.edit("new", "new\n");
    await rig.flush();
    expect(await hostTree()).toEqual({ ...OTHERS, new: "new\n" });
  });

  it("puts back nothing that both sides had deleted before the sync was paused", async () => {
    await deleted();
    await rig.during(rig.desk.sync.pause());
    await rig.during(rig.desk.sync.resume({ accept: "restore" }));
    await nothingBack();
  });

  it("puts back what was deleted on one side while the sync was paused", async () => {
    rig = await FolderRig.start({ ...FILES, ...OTHERS });
    await rig.flush();
    await rig.during(rig.desk.sync.pause());
    for (const name of Object.keys(FILES)) rig.desk.edit(name, undefined);
    await rig.during(rig.desk.sync.resume({ accept: "restore" }));
    await rig.pass(5_000);
    await rig.flush();
    expect(rig.desk.tree()).toEqual({ ...FILES, ...OTHERS });
    expect(await hostTree()).toEqual({ ...FILES, ...OTHERS });
  });
});
