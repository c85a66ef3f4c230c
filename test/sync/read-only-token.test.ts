import { afterEach, describe, expect, it } from "vitest";
import { FolderRig, type FolderRigOptions } from "../../src/testing/folder-rig.ts";

let rig: FolderRig;

afterEach(() => rig.close());

/** A folder that follows an origin by a token that may only read. */
async function reading(begin: Readonly<Record<string, string>>, more?: FolderRigOptions): Promise<FolderRig> {
  rig = new FolderRig(more);
  rig.host.isReadOnly = true;
  await rig.during(rig.host.open());
  for (const [path, content] of Object.entries(begin)) await rig.during(rig.host.write(path, content));
  await rig.during(rig.desk.start());
  await rig.flush();
  return rig;
}

const tree = (): Promise<Record<string, string>> => rig.during(rig.host.tree());

describe("a token that may only read", () => {
  it("is reported before anything was changed", async () => {
    const { desk } = await reading({ a: "1" });
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", read_only: true });
    expect(desk.sync.shape.kept_back).toBeUndefined();
    expect(desk.sync.shape.degraded).toContain("the token may only read");
  });

  it("keeps back what is changed in the folder, and says how much", async () => {
    const { desk } = await reading({ a: "1", b: "1" });
    desk.edit("a", "mine");
    desk.edit("mine", "m");
    await rig.flush();
    expect(desk.sync.shape).toMatchObject({ read_only: true, kept_back: 2, pending: 0 });
    expect(desk.sync.shape.degraded).toContain("2 changes");
    expect(await tree()).toEqual({ a: "1", b: "1" });
    expect(desk.happened).toContainEqual({ kind: "pushed", accepted: 0, rejected: 2, refused: 2 });
  });

  it("does not count a change that equals the origin's state by now", async () => {
    const { desk, host } = await reading({ a: "1", b: "1" });
    for (const name of ["a", "b", "mine"]) desk.edit(name, "m");
    await rig.flush();
    expect(desk.sync.shape.kept_back).toBe(3);
    desk.edit("a", "1");
    desk.edit("mine", undefined);
    await rig.flush();
    await rig.until(() => desk.sync.shape.kept_back === 1);
    await rig.during(host.write("b", "m"));
    await rig.flush();
    await rig.until(() => desk.sync.shape.kept_back === undefined);
  });

  it("keeps nothing back any more once a better token comes, in the same process or a later one", async () => {
    const { desk, host } = await reading({ a: "1" });
    desk.edit("a", "mine");
    await rig.flush();
    host.isReadOnly = false;
    desk.cut();
    desk.heal();
    await rig.until(() => desk.sync.shape.kept_back === undefined && desk.sync.shape.read_only === undefined);
    await rig.flush();
    expect(await tree()).toEqual({ a: "mine" });
    host.isReadOnly = true;
    await rig.during(desk.close());
    await rig.during(desk.start());
    desk.edit("a", "mine again");
    await rig.flush();
    expect(desk.sync.shape).toMatchObject({ read_only: true, kept_back: 1 });
    await rig.during(desk.close());
    await rig.during(desk.start());
    await rig.flush();
    expect(desk.sync.shape).toMatchObject({ read_only: true, kept_back: 1 });
    host.isReadOnly = false;
    await rig.during(desk.close());
    await rig.during(desk.start());
    await rig.flush();
    expect(desk.sync.shape.kept_back).toBeUndefined();
    expect(await tree()).toEqual({ a: "mine again" });
  });

  it("is not reported if nothing would go to the origin anyway", async () => {
    const { desk } = await reading({ a: "1" }, { record: { mode: "one-way-safe" } });
    desk.edit("a", "mine");
    await rig.flush();
    expect(desk.sync.shape).toMatchObject({ state: "in-sync" });
    expect(desk.sync.shape.read_only).toBeUndefined();
  });
});
