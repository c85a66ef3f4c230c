import { expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";

/** A replica loses power while it applies an edit. Before it is back, the origin edits the file again. */

/** An origin that has three files before anybody follows it. */
async function rigOf(): Promise<FolderRig> {
  const rig = new FolderRig();
  await rig.during(rig.host.open());
  for (const name of ["a", "b", "c"]) await rig.during(rig.host.write(name, `old ${name}\n`));
  return rig;
}

it.each(["keep", "forget"] as const)(
  "a power cut while an edit is applied leaves no conflict about a file that nobody edited here (%s)",
  async (fate) => {
    let isThrough = false;
    for (let at = 0; !isThrough; at += 1) {
      const rig = await rigOf();
      await rig.during(rig.desk.start());
      await rig.flush();
      // The first of these two is applied as a step of its own, or half of one, while the second one arrives.
      let writes = 0;
      rig.desk.machine.plan(({ reads }) => (!reads && (writes += 1) > at ? "stop-after" : "go"));
      await rig.during(rig.host.write("a", "first edit\n"));
      await rig.during(rig.host.write("a", "second edit\n"));
      await rig.pass(300);
      isThrough = !rig.desk.disk.stopped;
      rig.desk.cut();
      await rig.during(rig.desk.close().catch(() => undefined));
      rig.desk.machine.losePower(fate);
      rig.desk.heal();
      // While the replica looks at its folder, the origin sends what has happened since.
      rig.desk.lookMs = 400;
      await rig.during(rig.desk.start());
      await rig.flush();
      const conflicts = await rig.during(rig.desk.sync.conflicts());
      expect(conflicts, `power cut after write ${at}`).toEqual([]);
      expect(rig.desk.tree(), `power cut after write ${at}`).toMatchObject({ a: "second edit\n", b: "old b\n" });
      await rig.close();
    }
  },
);
