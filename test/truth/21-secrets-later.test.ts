import { afterEach, describe, expect, it, test } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";

/** Secrets are asked for after a sync has begun without them, and no longer asked for after it had them. */

const SECRET = "TOKEN=s3cr3t-of-this-test\n";
const LATER = "TOKEN=s3cr3t-of-this-test-later\n";
const LARGE = SECRET.repeat(40_000);

let rig: FolderRig;
afterEach(() => rig?.close());

async function following(begin: Readonly<Record<string, string>>, isWith: boolean): Promise<FolderRig> {
  rig = new FolderRig();
  if (isWith) rig.desk.settings = { withProtected: true };
  await rig.during(rig.host.open());
  for (const [path, content] of Object.entries(begin)) await rig.during(rig.host.write(path, content));
  await rig.during(rig.desk.start());
  await rig.flush();
  return rig;
}

/** The sync is started again, as `sync start` does it, with the flag or without. */
async function startedAgain(isWith: boolean): Promise<void> {
  await rig.during(rig.desk.close());
  // Without it the rig keeps what the record says.
  rig.desk.settings = { withProtected: isWith as true };
  await rig.during(rig.desk.start());
  await rig.flush();
}

const hostTree = () => rig.during(rig.host.tree());

describe("Truth 21: secrets that are asked for later", () => {
  it("brings what was kept back at the origin, small and large, and in folders", async () => {
    const { desk } = await following({ ".env": SECRET, "deep/server.key": LARGE, "a.txt": "a" }, false);
    expect(desk.tree()).toEqual({ "a.txt": "a", "deep/": "" });
    await startedAgain(true);
    expect(desk.tree()).toEqual({ ".env": SECRET, "a.txt": "a", "deep/": "", "deep/server.key": LARGE });
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0, with_protected: true });
  });

  it("sends what was kept back here, also what was changed there meanwhile", async () => {
    const { desk } = await following({ "a.txt": "a" }, false);
    desk.edit(".env", SECRET);
    await rig.flush();
    expect(await hostTree()).toEqual({ "a.txt": "a" });
    await startedAgain(true);
    expect(await hostTree()).toEqual({ ".env": SECRET, "a.txt": "a" });
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
  });

  it("says a conflict where each side has one of its own, and loses neither", async () => {
    const { desk } = await following({ ".env": SECRET, "a.txt": "a" }, false);
    desk.edit(".env", LATER);
    await rig.flush();
    await startedAgain(true);
    expect(desk.tree()[".env"]).toBe(LATER);
    expect((await hostTree())[".env"]).toBe(SECRET);
    expect(desk.sync.shape.conflicts).toBe(1);
  });

  it("brings the last of several states, and none that the origin has deleted since", async () => {
    const { desk, host } = await following({ ".env": SECRET, "gone.pem": SECRET, "a.txt": "a" }, false);
    await rig.during(host.write(".env", LATER));
    await rig.during(host.write("gone.pem", undefined));
    await rig.flush();
    await startedAgain(true);
    expect(desk.tree()).toEqual({ ".env": LATER, "a.txt": "a" });
  });

  it("deletes nothing of what was deleted on one side while each had its own", async () => {
    const { desk, host } = await following({ ".env": SECRET, "a.txt": "a" }, false);
    desk.edit(".env", LATER);
    desk.edit("own.key", SECRET);
    await rig.flush();
    desk.edit(".env", undefined);
    await rig.flush();
    await rig.during(host.write("own.key", LATER));
    await rig.during(host.write("own.key", undefined));
    await rig.flush();
    await startedAgain(true);
    expect(desk.tree()).toEqual({ ".env": SECRET, "a.txt": "a", "own.key": SECRET });
    expect(await hostTree()).toEqual({ ".env": SECRET, "a.txt": "a", "own.key": SECRET });
  });
});

test("Truth 21: a filter that is taken away lets what was recorded before come, too", async () => {
  rig = new FolderRig();
  rig.desk.settings = { filterTo: ["*.log"] };
  await rig.during(rig.host.open());
  for (const path of ["a.log", "deep/b.log", "c.txt"]) await rig.during(rig.host.write(path, path));
  await rig.during(rig.desk.start());
  await rig.flush();
  expect(rig.desk.tree()).toEqual({ "c.txt": "c.txt", "deep/": "" });
  await rig.during(rig.desk.close());
  rig.desk.settings = { filterTo: [] };
  await rig.during(rig.desk.start());
  await rig.flush();
  expect(rig.desk.tree()).toEqual({ "a.log": "a.log", "c.txt": "c.txt", "deep/": "", "deep/b.log": "deep/b.log" });
  expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
});

describe("Truth 21: secrets that are no longer asked for", () => {
  it("deletes nothing, and leaves new versions on their sides", async () => {
    const { desk, host } = await following({ ".env": SECRET, "b.pem": SECRET, "a.txt": "a" }, true);
    expect(desk.tree()).toEqual({ ".env": SECRET, "a.txt": "a", "b.pem": SECRET });
    await startedAgain(false);
    expect(desk.tree()).toEqual({ ".env": SECRET, "a.txt": "a", "b.pem": SECRET });
    await rig.during(host.write(".env", LATER));
    desk.edit("b.pem", LATER);
    desk.edit("a.txt", "b");
    await rig.flush();
    expect(desk.tree()).toEqual({ ".env": SECRET, "a.txt": "b", "b.pem": LATER });
    expect(await hostTree()).toEqual({ ".env": LATER, "a.txt": "b", "b.pem": SECRET });
    await rig.during(host.write("b.pem", undefined));
    desk.edit(".env", undefined);
    await rig.flush();
    expect(desk.tree()).toEqual({ "a.txt": "b", "b.pem": LATER });
    expect(await hostTree()).toEqual({ ".env": LATER, "a.txt": "b" });
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
    expect(desk.sync.shape.with_protected).toBeUndefined();
  });

  it("brings it all together again once it is asked for again, and deletes nothing", async () => {
    const { desk, host } = await following({ ".env": SECRET, "b.pem": SECRET, "a.txt": "a" }, true);
    await startedAgain(false);
    await rig.during(host.write(".env", LATER));
    desk.edit("b.pem", LATER);
    await rig.flush();
    await startedAgain(true);
    expect(desk.tree()).toEqual({ ".env": LATER, "a.txt": "a", "b.pem": LATER });
    expect(await hostTree()).toEqual({ ".env": LATER, "a.txt": "a", "b.pem": LATER });
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
  });

  it("takes a deletion in the folder along once it is asked for again, and none at the origin: that comes back", async () => {
    const { desk, host } = await following({ ".env": SECRET, "b.pem": SECRET, "a.txt": "a" }, true);
    await startedAgain(false);
    desk.edit(".env", undefined);
    await rig.during(host.write("b.pem", undefined));
    await rig.flush();
    await startedAgain(true);
    expect(desk.tree()).toEqual({ "a.txt": "a", "b.pem": SECRET });
    expect(await hostTree()).toEqual({ "a.txt": "a", "b.pem": SECRET });
  });
});
