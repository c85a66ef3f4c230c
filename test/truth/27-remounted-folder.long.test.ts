import { afterEach, describe, expect, it } from "vitest";
import { FolderRig, removeSim, writeSim } from "../../src/testing/folder-rig.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";
import { workspaceRecord } from "../../src/engine/log/own-record.ts";

/** A file system that is mounted again may have another device number. Its folders are the same. */

let rig: FolderRig;
afterEach(() => rig.close());

const FILES = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`d/f${10 + i}`, `content ${i}\n`]));

/** What the file system tells about the desk's folder. */
interface Told {
  dev: string;
  ino: string;
  birth?: string;
}

async function started(told: Told, begin: Readonly<Record<string, string>> = FILES): Promise<Told> {
  const now = { ...told };
  rig = await FolderRig.start(begin, { parts: { identity: () => ({ ...now }) } });
  await rig.flush();
  return now;
}

async function restarted(): Promise<void> {
  await rig.during(rig.desk.close());
  await rig.during(rig.desk.start());
}

const shape = () => rig.desk.sync.shape;
const atOrigin = () => rig.during(rig.host.tree());

async function goesOn(): Promise<void> {
  rig.desk.edit("d/f10", "edited after\n");
  await rig.during(rig.host.write("from-origin", "1"));
  await rig.flush();
  expect(shape()).toMatchObject({ state: "in-sync", conflicts: 0 });
  expect(rig.desk.tree()).toMatchObject({ "d/f10": "edited after\n", "from-origin": "1" });
  expect(await atOrigin()).toEqual(rig.desk.tree());
}

const WHEN = ["while it runs", "with a restart"] as const;
const BIRTHS = [["births are known", { birth: "1700000000000000001" }] as const, ["births are not known", {}] as const];

describe("Truth 27: a folder on a file system that was mounted again", () => {
  for (const [what, birth] of BIRTHS) {
    it.each(WHEN)(
      `counts as the same with another device number, the same inode and contents (${what}, %s)`,
      async (when) => {
        const now = await started({ dev: "42", ino: "256", ...birth });
        now.dev = "57";
        if (when === "with a restart") await restarted();
        await goesOn();
        // The record of the workspace has the new device number, too.
        expect(await rig.during(workspaceRecord(rig.desk.context))).toMatchObject({ device: "57", inode: "256" });
        now.dev = "42";
        await restarted();
        await rig.flush();
        expect(shape().state).toBe("in-sync");
      },
    );

    it.each(WHEN)(
      `counts as the same although it was edited on another machine meanwhile (${what}, %s)`,
      async (when) => {
        const now = await started({ dev: "42", ino: "256", ...birth });
        if (when === "with a restart") await rig.during(rig.desk.close());
        now.dev = "57";
        for (const name of ["d/f11", "d/f12", "d/f13"]) writeSim(rig.desk.disk, `${FOLDER}/${name}`, "elsewhere\n");
        removeSim(rig.desk.disk, `${FOLDER}/d/f14`);
        if (when === "with a restart") await rig.during(rig.desk.start());
        else rig.desk.hintEverywhere();
        await rig.flush();
        expect(shape().state).toBe("in-sync");
        expect(await atOrigin()).toEqual(rig.desk.tree());
        expect(await atOrigin()).toMatchObject({ "d/f12": "elsewhere\n" });
      },
    );
  }
});

describe("Truth 27: a folder that is another one halts the sync", () => {
  const HALTED = { state: "halted", halted: "root-replaced" };

  /** Removes all files of the folder, and writes other ones. */
  function replaceFiles(): void {
    for (const name of Object.keys(FILES)) removeSim(rig.desk.disk, `${FOLDER}/${name}`);
    for (const name of Object.keys(FILES).slice(0, 10)) writeSim(rig.desk.disk, `${FOLDER}/${name}`, "of another\n");
    writeSim(rig.desk.disk, `${FOLDER}/other`, "other\n");
  }

  it.each(WHEN)("another disk whose root has the same inode, with other contents (%s)", async (when) => {
    const now = await started({ dev: "42", ino: "2" });
    if (when === "with a restart") await rig.during(rig.desk.close());
    now.dev = "57";
    replaceFiles();
    if (when === "with a restart") await rig.during(rig.desk.start());
    else rig.desk.hint("d/f10");
    await rig.until(() => shape().state === "halted");
    expect(shape()).toMatchObject(HALTED);
    expect(await atOrigin()).toEqual({ "d/": "", ...FILES });
  });

  it.each([
    ["another inode", { ino: "257" }],
    ["another time of birth", { birth: "1700000000000000002" }],
    ["another device and time of birth", { dev: "57", birth: "1700000000000000002" }],
  ])("%s, whatever is in it", async (_, change) => {
    const now = await started({ dev: "42", ino: "256", birth: "1700000000000000001" });
    Object.assign(now, change);
    await restarted();
    await rig.until(() => shape().state === "halted");
    expect(shape()).toMatchObject(HALTED);
  });

  it("an empty folder in its place, even with the same inode", async () => {
    const now = await started({ dev: "42", ino: "2" });
    await rig.during(rig.desk.close());
    now.dev = "57";
    removeSim(rig.desk.disk, `${FOLDER}/d`);
    await rig.during(rig.desk.start());
    await rig.until(() => shape().state === "halted");
    expect(shape()).toMatchObject(HALTED);
    expect(await atOrigin()).toEqual({ "d/": "", ...FILES });
  });

  it("a folder in which most contents are others, if its time of birth is not known", async () => {
    const now = await started({ dev: "42", ino: "2" });
    await rig.during(rig.desk.close());
    now.dev = "57";
    for (const name of Object.keys(FILES).slice(2)) writeSim(rig.desk.disk, `${FOLDER}/${name}`, "of another\n");
    await rig.during(rig.desk.start());
    await rig.until(() => shape().state === "halted");
    expect(shape()).toMatchObject(HALTED);
    expect(await atOrigin()).toEqual({ "d/": "", ...FILES });
  });

  it("another device of a folder that was always empty, if its time of birth is not known", async () => {
    const now = await started({ dev: "42", ino: "2" }, {});
    now.dev = "57";
    await restarted();
    await rig.until(() => shape().state === "halted");
    expect(shape()).toMatchObject(HALTED);
  });
});
