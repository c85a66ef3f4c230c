import { afterEach, expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";

let rig: FolderRig;

afterEach(() => rig.close());

it("a sync that halted because its origin told another history works again once somebody resumes it", async () => {
  rig = await FolderRig.start({ a: "1" });
  const { host, desk } = rig;
  await rig.flush();
  desk.cut();
  await rig.during(desk.close());
  const note = {
    workspace: desk.hold.mirror.workspace,
    sequence: 3,
    held: "a",
    told: "b",
    reason: "its event 3 differs",
  };
  await rig.during(desk.start());
  desk.hold.options.notes.keep(note);
  desk.heal();
  await rig.pass(20_000);
  expect(desk.sync.shape).toMatchObject({ state: "halted", halted: "diverged" });
  await rig.during(desk.close());
  await rig.during(desk.start());
  await rig.pass(20_000);
  expect(desk.sync.shape).toMatchObject({ state: "halted", halted: "diverged" });
  await rig.during(host.write("a", "2"));
  await rig.during(desk.sync.resume());
  await rig.flush();
  expect(desk.tree()).toEqual({ a: "2" });
});
