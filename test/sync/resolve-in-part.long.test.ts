import { afterEach, expect, it } from "vitest";
import type { WorkspacePath } from "../../src/core/values/path.ts";
import { FolderRig } from "../../src/testing/folder-rig.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";
import { listOperations } from "../../src/engine/undo/operations.ts";
import { verify } from "../../src/engine/upkeep/verify.ts";

/**
 * A resolve with the origin's side writes the whole of that side into the folder, or nothing, and the origin never
 * loses it.
 */

const IGNORED = { ".gitignore": "*.o\n" };

let rig: FolderRig;
afterEach(() => rig.close());

/**
 * Returns the desk's files without temporary ones: a `.chronicle-tmp` path that could not be removed is swept later.
 */
function here(): Record<string, string> {
  return Object.fromEntries(Object.entries(rig.desk.tree()).filter(([path]) => !path.startsWith(".chronicle-tmp")));
}

const take = (path: string) => rig.during(rig.desk.sync.resolve(path as WorkspacePath, { keep: "upstream" }));

async function apart(files: Record<string, string>, here: () => void, there: () => Promise<void>): Promise<void> {
  rig = await FolderRig.start(files);
  await rig.flush();
  rig.desk.cut();
  here();
  await rig.during(there());
  await rig.pass(500);
  rig.desk.heal();
  await rig.flush();
}

async function disputed(): Promise<string[]> {
  return (await rig.during(rig.desk.sync.conflicts())).map(({ record }) => record.path).toSorted();
}

async function resolves(): Promise<number> {
  return (await rig.during(listOperations(rig.desk.context))).filter(({ kind }) => kind === "resolve").length;
}

/** Syncs an edited file to the disk, so that a loss of power does not lose the edit. */
function saved(name: string): void {
  const { disk } = rig.desk;
  const fd = disk.open(`${FOLDER}/${name}`, "read");
  disk.sync(fd);
  disk.close(fd);
  disk.syncFolder(FOLDER);
}

async function followed(): Promise<void> {
  await rig.flush();
  await rig.pass(5_000);
  await rig.flush();
}

it("a resolve that would replace a folder with untracked files by a file is refused, and changes neither side", async () => {
  await apart(
    { ...IGNORED, "d/f": "1" },
    () => rig.desk.edit("d/f", "mine"),
    async () => {
      await rig.host.write("d", undefined);
      await rig.host.write("d", "a file");
    },
  );
  rig.desk.edit("d/x.o", "untracked");
  expect(await disputed()).toEqual(["d"]);
  await expect(take("d")).rejects.toMatchObject({ code: "REFUSED" });
  await followed();
  const before = { ...IGNORED, "d/": "", "d/f": "mine", "d/x.o": "untracked" };
  expect([here(), await rig.during(rig.host.tree())]).toEqual([before, { ...IGNORED, d: "a file" }]);
  expect([await disputed(), await resolves()]).toEqual([["d"], 0]);
  rig.desk.edit("d/x.o", undefined);
  await rig.flush();
  await take("d");
  await followed();
  expect(here()).toEqual({ ...IGNORED, d: "a file" });
  expect(await rig.during(rig.host.tree())).toEqual({ ...IGNORED, d: "a file" });
  expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
});

it("if any write of the origin's folder fails, the origin keeps its tree, and the resolve is not left half done", async () => {
  let isThrough = false;
  for (let at = 0; !isThrough; at += 1) {
    await apart(
      { "d/f": "1", "d/g": "1", "d/e/h": "1", k: "k" },
      () => {
        rig.desk.edit("d", undefined);
        rig.desk.edit("d", "a file now");
      },
      () => rig.host.write("d/f", "theirs"),
    );
    await rig.during(rig.host.write("d/i", "more"));
    await rig.flush();
    const origin = await rig.during(rig.host.tree());
    let writes = 0;
    rig.desk.machine.plan(({ path, reads }) => {
      if (reads || !/^\/(proc|home\/project)/u.test(path)) return "go";
      writes += 1;
      return writes === at + 1 ? { errno: "EACCES" } : "go";
    });
    await take("d").catch(() => undefined);
    isThrough = writes <= at;
    rig.desk.machine.plan(() => "go");
    await followed();
    expect(await rig.during(rig.host.tree()), `write ${at}`).toEqual(origin);
    // Either the resolve was completed, or the folder is unchanged and the conflict is open.
    if ((await disputed()).length > 0) {
      expect([here(), await disputed()], `write ${at}`).toEqual([{ d: "a file now", k: "k" }, ["d"]]);
      await take("d");
    }
    await followed();
    expect([here(), await rig.during(rig.host.tree())]).toEqual([origin, origin]);
    expect((await rig.during(verify(rig.desk.context))).problems).toEqual([]);
    if (!isThrough) await rig.close();
  }
  expect(await resolves()).toBe(1);
});

it("an edit between a cut-off resolve and the next start does not replace the origin's side, wherever it was cut off", async () => {
  let isThrough = false;
  let edited = 0;
  for (let at = 0; !isThrough; at += 1) {
    await apart(
      { "d/f": "1", "d/g": "1" },
      () => rig.desk.edit("d/f", "mine"),
      async () => {
        await rig.host.write("d", undefined);
        await rig.host.write("d", "a file");
      },
    );
    const { desk } = rig;
    saved("d/f");
    let writes = 0;
    desk.machine.plan(({ reads }) => (!reads && (writes += 1) > at ? "stop-after" : "go"));
    await take("d").catch(() => undefined);
    isThrough = !desk.disk.stopped;
    desk.cut();
    await rig.during(desk.close().catch(() => undefined));
    desk.machine.losePower("keep");
    const isFolder = desk.tree()["d/"] !== undefined;
    if (isFolder) desk.edit("d/f", "mine, once more");
    edited += isFolder ? 1 : 0;
    desk.heal();
    await rig.during(desk.start());
    await followed();
    expect(await rig.during(rig.host.tree()), `cut after write ${at}`).toEqual({ d: "a file" });
    if (isFolder) {
      expect([desk.tree()["d/f"], (await disputed())[0]], `cut after write ${at}`).toEqual(["mine, once more", "d"]);
      await take("d");
      await followed();
    }
    if (desk.sync.shape.conflicts === 0) expect(here(), `cut after write ${at}`).toEqual({ d: "a file" });
    if (!isThrough) await rig.close();
  }
  expect(edited).toBeGreaterThan(5);
});
