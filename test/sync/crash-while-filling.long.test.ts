import { expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";

/** A replica loses power while its folder is first filled, from a base. Files are staged as contents come. */

const FILES: Readonly<Record<string, string>> = {
  top: "at the top\n",
  "src/a": "content of a\n",
  "src/deep/b": "content of b\n",
  "src/deep/same": "content of a\n",
  "docs/c": "content of c\n",
};
const TREE = { ...FILES, "src/": "", "src/deep/": "", "docs/": "" };

async function rigOf(): Promise<FolderRig> {
  const rig = new FolderRig();
  await rig.during(rig.host.open());
  for (const [path, content] of Object.entries(FILES)) await rig.during(rig.host.write(path, content));
  await rig.during(rig.host.fork());
  return rig;
}

/** A replica that has begun, and has not reached its origin. */
async function begunOf(): Promise<FolderRig> {
  const rig = await rigOf();
  rig.desk.cut();
  await rig.during(rig.desk.start());
  return rig;
}

/** What lies in the staging folder of the replica's store. */
function staged({ desk }: FolderRig): string[] {
  const folder = `/store/workspaces/${desk.hold.context.workspaceId}/staging`;
  return desk.disk.lstat(folder) === undefined ? [] : desk.disk.list(folder).map(({ name }) => name.toString());
}

it("files are staged while contents come, and no staged file is left", async () => {
  const rig = await begunOf();
  let wasStaged = false;
  rig.desk.machine.plan(({ path }) => {
    wasStaged ||= path.endsWith("/early");
    return "go";
  });
  rig.desk.heal();
  await rig.flush();
  expect(wasStaged).toBe(true);
  expect(staged(rig)).toEqual([]);
  expect(rig.desk.tree()).toEqual(TREE);
  await rig.close();
});

it.each(["keep", "forget"] as const)(
  "a first sync ends with all files and no conflict, after a power cut anywhere in it (%s)",
  async (fate) => {
    let isThrough = false;
    for (let at = 0; !isThrough; at += 1) {
      const rig = await begunOf();
      let writes = 0;
      rig.desk.machine.plan(({ reads }) => (!reads && (writes += 1) > at ? "stop-after" : "go"));
      rig.desk.heal();
      await rig.pass(15_000);
      isThrough = !rig.desk.disk.stopped;
      rig.desk.cut();
      await rig.during(rig.desk.close().catch(() => undefined));
      rig.desk.machine.losePower(fate);
      rig.desk.heal();
      await rig.during(rig.desk.start());
      await rig.flush();
      expect(rig.desk.tree(), `power cut after write ${at}`).toEqual(TREE);
      expect(await rig.during(rig.desk.sync.conflicts()), `power cut after write ${at}`).toEqual([]);
      await rig.during(rig.desk.close());
      // What an operation leaves that was closed is for the next one.
      expect(staged(rig), `power cut after write ${at}`).not.toContain("early");
      await rig.during(rig.host.close());
    }
  },
);
