import { afterEach, describe, expect, it } from "vitest";
import { FolderRig, removeSim, type FolderRigOptions } from "../../src/testing/folder-rig.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";

/**
 * For each side, the deletion guard compares what would be deleted with what was there. Files that the other side has
 * made meanwhile, and files that are not sent, do not count as left.
 */

let rig: FolderRig;
afterEach(() => rig.close());

const files = (count: number, prefix = "f"): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${100 + i}`, `${prefix} ${i}\n`]));

async function started(begin: Readonly<Record<string, string>>, more: FolderRigOptions = {}): Promise<void> {
  rig = await FolderRig.start(begin, more);
  await rig.flush();
}

async function emptyOrigin(names: Iterable<string>): Promise<void> {
  for (const name of names) await rig.during(rig.host.write(name, undefined));
}

function emptyDesk(names: Iterable<string>): void {
  for (const name of names) removeSim(rig.desk.disk, `${FOLDER}/${name}`);
  rig.desk.hint(...names);
}

/** Does `work` while the two sides are disconnected, and connects them then. */
async function apart(work: () => Promise<void>): Promise<void> {
  rig.desk.cut();
  await work();
  await rig.pass(1_000);
  rig.desk.heal();
}

const state = () => rig.desk.sync.shape;
const halted = (): Promise<void> => rig.until(() => state().state === "halted");
const atOrigin = () => rig.during(rig.host.tree());

describe("Truth 26: an emptied origin never wipes the desk unasked", () => {
  const saved: readonly [string, Readonly<Record<string, string>>][] = [
    ["a new file", { new: "mine\n" }],
    ["a file that was there", { f100: "edited here\n" }],
    ["a folder of new files", Object.fromEntries(Object.entries(files(60, "n")).map(([n, c]) => [`made/${n}`, c]))],
  ];

  for (const [what, edits] of saved) {
    it.each([3, 20, 50, 51])(`none of %s files is deleted if the desk saves ${what} meanwhile`, async (count) => {
      const begin = files(count);
      await started(begin);
      await apart(async () => {
        await emptyOrigin(Object.keys(begin));
        for (const [name, content] of Object.entries(edits)) rig.desk.edit(name, content);
      });
      await halted();
      expect(state()).toMatchObject({ halted: "root-emptied", reason: expect.stringContaining("at the origin") });
      expect(rig.desk.tree()).toMatchObject({ ...begin, ...edits });
      await rig.during(rig.desk.sync.resume({ accept: "restore" }));
      await rig.flush();
      expect(rig.desk.tree()).toMatchObject({ ...begin, ...edits });
      expect(await atOrigin()).toEqual(rig.desk.tree());
    });
  }

  it("if the deletions are accepted, the desk follows, and keeps the file that it has saved", async () => {
    const begin = files(20);
    await started(begin);
    await apart(async () => {
      await emptyOrigin(Object.keys(begin));
      rig.desk.edit("new", "mine\n");
    });
    await halted();
    await rig.during(rig.desk.sync.resume({ accept: "deletions" }));
    await rig.flush();
    expect(rig.desk.tree()).toEqual({ new: "mine\n" });
    expect(await atOrigin()).toEqual({ new: "mine\n" });
  });

  it("even if the desk was not running, and is started with a new file", async () => {
    const begin = files(20);
    await started(begin);
    await rig.during(rig.desk.close());
    await emptyOrigin(Object.keys(begin));
    rig.desk.edit("new", "mine\n");
    await rig.during(rig.desk.start());
    await halted();
    expect(rig.desk.tree()).toEqual({ ...begin, new: "mine\n" });
  });

  it.each(["two-way-resolved", "one-way-safe", "one-way-replica"] as const)("in the mode %s, too", async (mode) => {
    const begin = files(20);
    await started(begin, { record: { mode } });
    await apart(async () => {
      await emptyOrigin(Object.keys(begin));
      rig.desk.edit("new", "mine\n");
    });
    await halted();
    // In one-way-replica, a new file here is removed in any case.
    expect(rig.desk.tree()).toMatchObject(begin);
  });

  it.each(["by the same process", "by another process"])(
    "even if it is emptied in two steps, and the desk's new file comes in between (%s)",
    async (how) => {
      const begin = files(20);
      const names = Object.keys(begin);
      await started(begin);
      await rig.pass(60_000);
      await emptyOrigin(names.slice(0, 2));
      rig.desk.edit("new", "mine\n");
      await rig.flush();
      expect(await atOrigin()).toHaveProperty("new");
      if (how === "by another process") {
        await rig.during(rig.desk.close());
        await rig.during(rig.desk.start());
      }
      await emptyOrigin(names.slice(2));
      await halted();
      expect(Object.keys(rig.desk.tree())).toHaveLength(19);
      await rig.during(rig.desk.sync.resume({ accept: "restore" }));
      await rig.flush();
      expect(rig.desk.tree()).toEqual({ ...begin, new: "mine\n" });
      expect(await atOrigin()).toEqual({ ...begin, new: "mine\n" });
    },
  );

  it("if more than half of many files are deleted, the sync halts, even if the desk has made as many", async () => {
    const begin = files(120);
    await started(begin);
    await apart(async () => {
      await emptyOrigin(Object.keys(begin).slice(0, 70));
      for (const [name, content] of Object.entries(files(100, "n"))) rig.desk.edit(name, content);
    });
    await halted();
    expect(state()).toMatchObject({
      halted: "mass-deletion",
      reason: "70 of 120 entries were deleted at the origin at once",
    });
    expect(Object.keys(rig.desk.tree())).toHaveLength(220);
  });
});

describe("Truth 26: an emptied desk never wipes the origin unasked", () => {
  it.each([
    ["a file that an editor has left", {}, "f100~"],
    ["a file that is not written back", { record: { filterFrom: ["*.log"] } }, "a.log"],
  ] as const)("even if all that is left in it is %s", async (_, more, left) => {
    const begin = files(20);
    await started(begin, more);
    rig.desk.edit(left, "left\n");
    await rig.flush();
    emptyDesk(Object.keys(begin));
    await halted();
    expect(state()).toMatchObject({ halted: "root-emptied" });
    expect(await atOrigin()).toEqual(begin);
  });

  it("even if it is emptied in two steps, and a file of the origin comes in between", async () => {
    const begin = files(20);
    const names = Object.keys(begin);
    await started(begin);
    await rig.pass(60_000);
    emptyDesk(names.slice(0, 2));
    await rig.during(rig.host.write("theirs", "theirs\n"));
    await rig.flush();
    expect(rig.desk.tree()).toHaveProperty("theirs");
    emptyDesk(names.slice(2));
    await halted();
    expect(Object.keys(await atOrigin())).toHaveLength(19);
  });

  it("if more than half of many files are deleted, the sync halts, even if as many are new", async () => {
    const begin = files(120);
    await started(begin);
    for (const [name, content] of Object.entries(files(100, "n"))) rig.desk.edit(name, content);
    emptyDesk(Object.keys(begin).slice(0, 70));
    await halted();
    expect(state()).toMatchObject({ halted: "mass-deletion", reason: "70 of 120 entries were deleted here at once" });
    expect(await atOrigin()).toMatchObject(begin);
  });
});

describe("Truth 26: deletions that the guard lets pass", () => {
  it("some of the files that have just come, in a folder that has just begun to follow", async () => {
    const begin = files(20);
    await started(begin);
    emptyDesk(["f100", "f101"]);
    await rig.flush();
    await emptyOrigin(["f102", "f103"]);
    await rig.flush();
    expect(state().state).toBe("in-sync");
    expect(Object.keys(rig.desk.tree())).toHaveLength(16);
    expect(await atOrigin()).toEqual(rig.desk.tree());
  });

  it("some files that were made a moment ago, and the one file that was there before", async () => {
    await started({ old: "old\n" });
    await rig.pass(60_000);
    for (const [name, content] of Object.entries(files(30))) rig.desk.edit(name, content);
    await rig.flush();
    emptyDesk(["f100", "f101", "f102"]);
    await rig.flush();
    emptyDesk(["old"]);
    await rig.flush();
    expect(state().state).toBe("in-sync");
    expect(Object.keys(await atOrigin())).toHaveLength(27);
  });

  it("the renaming of everything at the origin, while the desk saves a file", async () => {
    const begin = files(20);
    await started(begin);
    await apart(async () => {
      for (const [name, content] of Object.entries(begin)) {
        await rig.during(rig.host.write(name, undefined));
        await rig.during(rig.host.write(`moved-${name}`, content));
      }
      rig.desk.edit("new", "mine\n");
    });
    await rig.flush();
    expect(state().state).toBe("in-sync");
    expect(Object.keys(rig.desk.tree())).toHaveLength(21);
    expect(await atOrigin()).toEqual(rig.desk.tree());
  });

  it("all files but one of a small tree, after a while", async () => {
    const begin = files(20);
    await started(begin);
    await rig.pass(60_000);
    await emptyOrigin(Object.keys(begin).slice(1));
    await rig.flush();
    expect(rig.desk.tree()).toEqual({ f100: begin["f100"] });
  });
});
