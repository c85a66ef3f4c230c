import { afterEach, expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";

let rig: FolderRig;
afterEach(() => rig.close());

const text = (first: string, last: string): string => `${first}\n2\n3\n4\n${last}\n`;

it("a version at the origin that merged by itself names the iteration that contains it", async () => {
  rig = await FolderRig.start({ a: text("1", "5") });
  await rig.flush();
  // The replica proposes its change before it hears of the other one.
  rig.desk.edit("a", text("1", "five"));
  await rig.until(() => rig.desk.sync.shape.pending > 0);
  await rig.during(rig.host.write("a", text("one", "5")));
  await rig.flush();
  expect(await rig.during(rig.host.tree())).toEqual({ a: text("one", "five") });
  const versions = await rig.during(rig.host.workspace.versions());
  expect(versions).toMatchObject([{ path: "a", lost_to: { iteration: 2 }, merged_in: { iteration: 3 } }]);
  // A later edit does not change this.
  await rig.during(rig.host.write("a", text("one", "5.0")));
  expect(await rig.during(rig.host.workspace.versions())).toMatchObject([{ merged_in: { iteration: 3 } }]);
});
