import { afterEach, describe, expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";

/** `rm -rf FOLDER/*` deletes one file after another while the sync is watching. */

let rig: FolderRig;
afterEach(() => rig.close());

const FILES = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`f${10 + i}`, `content ${i}\n`]));
const NAMES = Object.keys(FILES);

async function started(): Promise<void> {
  rig = await FolderRig.start(FILES);
  await rig.flush();
}

async function trees() {
  return { desk: rig.desk.tree(), host: await rig.during(rig.host.tree()) };
}

const isHalted = (): boolean => rig.desk.sync.shape.state === "halted";

describe("in the folder", () => {
  it("only a few files of a large deletion that is seen in pieces go to the origin before it halts the sync", async () => {
    await started();
    for (const from of [0, 5, 10, 15]) {
      for (const name of NAMES.slice(from, from + 5)) rig.desk.edit(name, undefined);
      await rig.pass(250);
    }
    await rig.until(isHalted);
    expect(Object.keys((await trees()).host).length).toBeGreaterThanOrEqual(17);
    await rig.during(rig.desk.sync.resume({ accept: "restore" }));
    await rig.flush();
    expect(await trees()).toEqual({ desk: FILES, host: FILES });
  });

  it("a few deletions wait for a moment only", async () => {
    await started();
    rig.desk.edit("f10", undefined);
    await rig.pass(250);
    expect(Object.keys((await trees()).host)).toHaveLength(19);
    await rig.pass(60_000);
    for (const name of NAMES.slice(1, 4)) rig.desk.edit(name, undefined);
    await rig.pass(250);
    expect(Object.keys((await trees()).host)).toHaveLength(16);
  });

  it("not even the first deletions go to the origin if each is followed by another within a moment", async () => {
    await started();
    for (const name of NAMES) {
      rig.desk.edit(name, undefined);
      await rig.pass(60);
    }
    await rig.until(isHalted);
    expect((await trees()).host).toEqual(FILES);
  });

  it("edits do not wait, except for a moment if something was deleted at the same time", async () => {
    await started();
    rig.desk.edit("f10", "edited\n");
    await rig.pass(100);
    expect((await trees()).host["f10"]).toBe("edited\n");
    rig.desk.edit("f11", undefined);
    rig.desk.edit("f10", "again\n");
    await rig.pass(250);
    expect((await trees()).host["f10"]).toBe("again\n");
  });

  it("deletions that follow one another all the time do not wait without end", async () => {
    await started();
    for (const name of NAMES.slice(0, 18)) {
      rig.desk.edit(name, undefined);
      await rig.pass(390);
    }
    expect(Object.keys((await trees()).host).length).toBeLessThan(12);
  });

  it.each(["at once", "later", "by another process"])(
    "a restore also brings back files whose deletion had gone to the origin before (%s)",
    async (when) => {
      await started();
      for (const name of NAMES.slice(0, 3)) rig.desk.edit(name, undefined);
      await rig.pass(300);
      expect(Object.keys((await trees()).host)).toHaveLength(17);
      rig.desk.edit("f13", "edited\n");
      for (const name of NAMES.slice(4)) rig.desk.edit(name, undefined);
      rig.desk.edit("f13", undefined);
      await rig.until(isHalted);
      if (when !== "at once") await rig.pass(60_000);
      if (when === "by another process") {
        await rig.during(rig.desk.close());
        await rig.during(rig.desk.start());
      }
      await rig.during(rig.desk.sync.resume({ accept: "restore" }));
      await rig.flush();
      expect(await trees()).toEqual({ desk: FILES, host: FILES });
      // Deletions after the restore count.
      for (const name of NAMES.slice(0, 2)) rig.desk.edit(name, undefined);
      await rig.flush();
      expect(Object.keys((await trees()).host)).toHaveLength(18);
    },
  );

  it("a restore also brings back files whose deletion had been sent, though the connection was then cut", async () => {
    await started();
    for (const name of NAMES.slice(0, 3)) rig.desk.edit(name, undefined);
    await rig.until(() => rig.desk.sync.shape.pending > 0);
    // The deletions have been sent. After the cut, nothing comes back.
    await rig.until(() => rig.desk.sync.shape.pending === 0 || rig.desk.sync.shape.applied > 0);
    rig.desk.cut();
    for (const name of NAMES.slice(3)) rig.desk.edit(name, undefined);
    await rig.until(isHalted);
    rig.desk.heal();
    await rig.during(rig.desk.sync.resume({ accept: "restore" }));
    await rig.flush();
    expect(await trees()).toEqual({ desk: FILES, host: FILES });
  });

  it("a restore brings a renamed file back under its new name only", async () => {
    await started();
    rig.desk.edit("f10", undefined);
    rig.desk.edit("moved", FILES["f10"]);
    await rig.flush();
    for (const name of [...NAMES.slice(1), "moved"]) rig.desk.edit(name, undefined);
    await rig.until(isHalted);
    await rig.during(rig.desk.sync.resume({ accept: "restore" }));
    await rig.flush();
    const { f10, ...others } = FILES;
    expect(await trees()).toEqual({ desk: { ...others, moved: f10 }, host: { ...others, moved: f10 } });
  });
});

describe("at the origin", () => {
  it("a restore also brings back files that had gone from the folder before, on both sides", async () => {
    await started();
    for (const name of NAMES.slice(0, 3)) await rig.during(rig.host.write(name, undefined));
    await rig.flush();
    expect(Object.keys(rig.desk.tree())).toHaveLength(17);
    for (const name of NAMES.slice(3)) await rig.during(rig.host.write(name, undefined));
    await rig.until(isHalted);
    expect(Object.keys(rig.desk.tree())).toHaveLength(17);
    await rig.during(rig.desk.sync.resume({ accept: "restore" }));
    await rig.flush();
    expect(await trees()).toEqual({ desk: FILES, host: FILES });
  });
});

describe("at the origin", () => {
  const MANY = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`old/f${i}`, `content ${i}\n`]));
  const WITHIN_MS = 2_000;

  async function renameSlowly(): Promise<void> {
    rig = await FolderRig.start({ ...MANY, kept: "kept" });
    await rig.flush();
    for (const name of Object.keys(MANY)) await rig.during(rig.host.write(name, undefined));
  }

  async function secondHalf(): Promise<void> {
    for (const [name, content] of Object.entries(MANY))
      await rig.during(rig.host.write(name.replace("old", "new"), content));
  }

  it("half of a rename is no large deletion if the other half comes within seconds", async () => {
    await renameSlowly();
    await rig.pass(WITHIN_MS);
    expect([isHalted(), Object.keys(rig.desk.tree()).length]).toEqual([false, 62]);
    await secondHalf();
    await rig.flush();
    expect(isHalted()).toBe(false);
    expect((await trees()).desk).toEqual((await trees()).host);
  });

  it("a large deletion halts the sync after a while; if the files are back by then, a plain resume is enough", async () => {
    await renameSlowly();
    await rig.until(isHalted);
    await secondHalf();
    await rig.during(rig.desk.sync.resume());
    await rig.flush();
    expect((await trees()).desk).toEqual((await trees()).host);
  });
});
