import { afterEach, expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";

/**
 * The conflict of a path is over, but the path cannot be brought into the folder yet. The paths beneath it are
 * reconciled, because they are no part of the conflict any more.
 */

const IGNORED = { ".gitignore": "*.o\n" };

let rig: FolderRig;
afterEach(() => rig.close());

async function disputes() {
  const open = await rig.during(rig.desk.sync.conflicts());
  return open.map(({ record: { path, reason } }) => ({ path, reason }));
}

async function apart(here: () => void, there: () => Promise<void>): Promise<void> {
  rig.desk.cut();
  here();
  await rig.during(there());
  await rig.pass(500);
  rig.desk.heal();
  await rig.flush();
}

/** The origin has put a file where the folder has a folder with an edit, and with something that is not tracked. */
async function disputed(): Promise<void> {
  rig = await FolderRig.start({ ...IGNORED, "d/x": "1", a: "a" });
  await rig.flush();
  await apart(
    () => rig.desk.edit("d/x", "mine"),
    async () => {
      await rig.host.write("d", undefined);
      await rig.host.write("d", "a file");
    },
  );
  rig.desk.edit("d/x.o", "untracked");
  expect(await disputes()).toMatchObject([{ path: "d", reason: "folder" }]);
}

/** The origin makes `d/x` again, as it was. Checks that it is there on both sides. */
async function madeAgain(): Promise<void> {
  await rig.during(rig.host.write("d/x", "1"));
  await rig.flush();
  await rig.pass(30_000);
  await rig.flush();
  expect((await rig.during(rig.host.tree()))["d/x"]).toBe("1");
  expect(rig.desk.tree()["d/x"]).toBe("1");
  expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
}

it("a file that the origin makes again stays in a folder that cannot go because of an untracked file", async () => {
  await disputed();
  await apart(
    () => rig.desk.edit("d/x", "1"),
    () => rig.host.write("d", undefined),
  );
  expect(await disputes()).toEqual([{ path: "d", reason: "blocked" }]);
  expect(rig.desk.tree()).toMatchObject({ "d/": "", "d/x.o": "untracked" });
  await madeAgain();
});

it("a file that the origin makes again stays at the origin, in a folder that cannot go there", async () => {
  rig = await FolderRig.start({ "d/x": "1", "d/y.log": "log", a: "a" }, { record: { filterFrom: ["*.log"] } });
  await rig.flush();
  await apart(
    () => {
      rig.desk.edit("d", undefined);
      rig.desk.edit("d", "a file now");
    },
    () => rig.host.write("d/x", "theirs"),
  );
  expect((await disputes()).map(({ path }) => path)).toContain("d");
  await rig.during(rig.host.write("d/x", undefined));
  await rig.flush();
  await rig.pass(30_000);
  expect(await disputes()).toEqual([{ path: "d", reason: "blocked" }]);
  await rig.during(rig.host.write("d/x", "1"));
  await rig.flush();
  await rig.pass(30_000);
  expect((await rig.during(rig.host.tree()))["d/x"]).toBe("1");
  expect(rig.desk.tree()).toEqual({ a: "a", d: "a file now" });
});
