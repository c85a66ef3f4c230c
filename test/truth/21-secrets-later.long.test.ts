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

describe("Truth 21: a filter that is taken away, or narrowed", () => {
  const FIRST = "one\ntwo\nthree\n";
  const THERE = "ONE\ntwo\nthree\n";
  const HERE = "one\ntwo\nTHREE\n";

  /** The sync is started again with other patterns. */
  async function filtered(filterTo: readonly string[]): Promise<void> {
    await rig.during(rig.desk.close());
    rig.desk.settings = { filterTo };
    await rig.during(rig.desk.start());
    await rig.flush();
  }

  async function withheld(): Promise<FolderRig> {
    await following({ "x.log": FIRST, "a.txt": "a" }, false);
    expect(rig.desk.tree()).toEqual({ "a.txt": "a", "x.log": FIRST });
    await filtered(["*.log"]);
    return rig;
  }

  it.each([
    ["taken away", []],
    ["narrowed", ["y.log"]],
    ["another one", ["*.tmp"]],
  ])("brings what the origin has made of a file meanwhile (%s)", async (_how, after) => {
    const { desk, host } = await withheld();
    await rig.during(host.write("x.log", THERE));
    await rig.flush();
    expect(desk.tree()["x.log"]).toBe(FIRST);
    await filtered(after);
    expect(desk.tree()).toEqual({ "a.txt": "a", "x.log": THERE });
    expect(await hostTree()).toEqual({ "a.txt": "a", "x.log": THERE });
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
  });

  it("takes the origin's word for it where that went back to what it was", async () => {
    const { desk, host } = await following({ "x.log": FIRST, "a.txt": "a" }, false);
    await rig.during(host.write("x.log", THERE));
    await rig.flush();
    await filtered(["*.log"]);
    await rig.during(host.write("x.log", FIRST));
    await rig.flush();
    await filtered([]);
    expect(desk.tree()["x.log"]).toBe(FIRST);
    expect((await hostTree())["x.log"]).toBe(FIRST);
  });

  it("says a conflict where both sides have changed it, and loses neither", async () => {
    const { desk, host } = await withheld();
    await rig.during(host.write("x.log", "theirs\n"));
    desk.edit("x.log", "ours\n");
    await rig.flush();
    await filtered([]);
    expect(desk.tree()["x.log"]).toBe("ours\n");
    expect((await hostTree())["x.log"]).toBe("theirs\n");
    expect(desk.sync.shape.conflicts).toBe(1);
  });

  it("merges what both sides have changed where it merges", async () => {
    const { desk, host } = await withheld();
    await rig.during(host.write("x.log", THERE));
    desk.edit("x.log", HERE);
    await rig.flush();
    await filtered([]);
    expect(desk.tree()["x.log"]).toBe("ONE\ntwo\nTHREE\n");
    expect((await hostTree())["x.log"]).toBe("ONE\ntwo\nTHREE\n");
  });

  it("does the same with an edit that no sync has looked at before", async () => {
    const { desk, host } = await withheld();
    await rig.during(host.write("x.log", "theirs\n"));
    await rig.flush();
    await rig.during(desk.close());
    desk.edit("x.log", "ours\n");
    desk.settings = { filterTo: [] };
    await rig.during(desk.start());
    await rig.flush();
    expect(desk.tree()["x.log"]).toBe("ours\n");
    expect((await hostTree())["x.log"]).toBe("theirs\n");
    expect(desk.sync.shape.conflicts).toBe(1);
  });

  it.each([
    ["as it was", FIRST],
    ["as it is by now", THERE],
  ])("brings back a file that was deleted in the folder meanwhile, %s", async (_how, there) => {
    const { desk, host } = await withheld();
    if (there !== FIRST) await rig.during(host.write("x.log", there));
    desk.edit("x.log", undefined);
    await rig.flush();
    await filtered([]);
    expect(await hostTree()).toEqual({ "a.txt": "a", "x.log": there });
    expect(desk.tree()).toEqual({ "a.txt": "a", "x.log": there });
  });

  it.each([
    ["as it was", FIRST],
    ["as it is by now", THERE],
  ])("brings back a file of the folder's own that was deleted in it meanwhile, %s", async (_how, there) => {
    const { desk, host } = await following({ "a.txt": "a" }, false);
    desk.edit("x.log", FIRST);
    await rig.flush();
    await filtered(["*.log"]);
    if (there !== FIRST) await rig.during(host.write("x.log", there));
    desk.edit("x.log", undefined);
    await rig.flush();
    await filtered([]);
    expect(await hostTree()).toEqual({ "a.txt": "a", "x.log": there });
    expect(desk.tree()).toEqual({ "a.txt": "a", "x.log": there });
  });

  it("brings back a file whose deletion no sync has looked at before", async () => {
    const { desk } = await withheld();
    await rig.during(desk.close());
    desk.edit("x.log", undefined);
    desk.settings = { filterTo: [] };
    await rig.during(desk.start());
    await rig.flush();
    expect(await hostTree()).toEqual({ "a.txt": "a", "x.log": FIRST });
    expect(desk.tree()).toEqual({ "a.txt": "a", "x.log": FIRST });
  });

  it("has a conflict again that was open when the filter came", async () => {
    const { desk, host } = await following({ "x.log": FIRST, "a.txt": "a" }, false);
    desk.cut();
    await rig.during(host.write("x.log", "theirs\n"));
    desk.edit("x.log", "ours\n");
    desk.heal();
    await rig.flush();
    expect(desk.sync.shape.conflicts).toBe(1);
    await filtered(["*.log"]);
    await filtered([]);
    expect(desk.tree()["x.log"]).toBe("ours\n");
    expect((await hostTree())["x.log"]).toBe("theirs\n");
    expect(desk.sync.shape.conflicts).toBe(1);
    await rig.during(desk.sync.resolve("x.log" as never, { keep: "local" }));
    await rig.flush();
    expect((await hostTree())["x.log"]).toBe("ours\n");
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
  });

  it("goes on with deletions and edits as ever once both sides have met", async () => {
    const { desk, host } = await withheld();
    await filtered([]);
    desk.edit("x.log", HERE);
    await rig.flush();
    expect((await hostTree())["x.log"]).toBe(HERE);
    await rig.during(desk.close());
    desk.settings = {};
    await rig.during(desk.start());
    desk.edit("x.log", undefined);
    await rig.flush();
    expect(await hostTree()).toEqual({ "a.txt": "a" });
    await rig.during(host.write("x.log", THERE));
    await rig.flush();
    expect(desk.tree()).toEqual({ "a.txt": "a", "x.log": THERE });
  });
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
