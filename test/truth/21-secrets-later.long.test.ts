import { afterEach, describe, expect, it, test } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";

/** A sync asks for secrets after it has begun without them, or does not ask for them any more. */

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

/** Starts the sync again, as `sync start` does, with secrets or without. */
async function startedAgain(isWith: boolean): Promise<void> {
  await rig.during(rig.desk.close());
  // Without this setting, the rig keeps what the record says.
  rig.desk.settings = { withProtected: isWith as true };
  await rig.during(rig.desk.start());
  await rig.flush();
}

const hostTree = () => rig.during(rig.host.tree());

describe("Truth 21: a sync that asks for secrets later", () => {
  it("brings the secrets that were kept back at the origin, small and large, and in folders", async () => {
    const { desk } = await following({ ".env": SECRET, "deep/server.key": LARGE, "a.txt": "a" }, false);
    expect(desk.tree()).toEqual({ "a.txt": "a", "deep/": "" });
    await startedAgain(true);
    expect(desk.tree()).toEqual({ ".env": SECRET, "a.txt": "a", "deep/": "", "deep/server.key": LARGE });
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0, with_protected: true });
  });

  it("sends the secrets that were kept back here", async () => {
    const { desk } = await following({ "a.txt": "a" }, false);
    desk.edit(".env", SECRET);
    await rig.flush();
    expect(await hostTree()).toEqual({ "a.txt": "a" });
    await startedAgain(true);
    expect(await hostTree()).toEqual({ ".env": SECRET, "a.txt": "a" });
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
  });

  it("makes a conflict if each side has a secret of its own, and loses neither", async () => {
    const { desk } = await following({ ".env": SECRET, "a.txt": "a" }, false);
    desk.edit(".env", LATER);
    await rig.flush();
    await startedAgain(true);
    expect(desk.tree()[".env"]).toBe(LATER);
    expect((await hostTree())[".env"]).toBe(SECRET);
    expect(desk.sync.shape.conflicts).toBe(1);
  });

  it("brings the last state of a secret, and no secret that the origin has deleted since", async () => {
    const { desk, host } = await following({ ".env": SECRET, "gone.pem": SECRET, "a.txt": "a" }, false);
    await rig.during(host.write(".env", LATER));
    await rig.during(host.write("gone.pem", undefined));
    await rig.flush();
    await startedAgain(true);
    expect(desk.tree()).toEqual({ ".env": LATER, "a.txt": "a" });
  });

  it("does not delete a secret on one side because the other side deleted its own", async () => {
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

test("Truth 21: files that were recorded before a filter is taken away come, too", async () => {
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

  /** Starts the sync again with other patterns. */
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
  ])("brings the origin's new state of a file (%s)", async (_how, after) => {
    const { desk, host } = await withheld();
    await rig.during(host.write("x.log", THERE));
    await rig.flush();
    expect(desk.tree()["x.log"]).toBe(FIRST);
    await filtered(after);
    expect(desk.tree()).toEqual({ "a.txt": "a", "x.log": THERE });
    expect(await hostTree()).toEqual({ "a.txt": "a", "x.log": THERE });
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
  });

  it("brings the origin's state of a file even if it went back to an earlier one", async () => {
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

  it("makes a conflict if both sides have changed a file, and loses neither", async () => {
    const { desk, host } = await withheld();
    await rig.during(host.write("x.log", "theirs\n"));
    desk.edit("x.log", "ours\n");
    await rig.flush();
    await filtered([]);
    expect(desk.tree()["x.log"]).toBe("ours\n");
    expect((await hostTree())["x.log"]).toBe("theirs\n");
    expect(desk.sync.shape.conflicts).toBe(1);
  });

  it("merges the changes of both sides if they merge", async () => {
    const { desk, host } = await withheld();
    await rig.during(host.write("x.log", THERE));
    desk.edit("x.log", HERE);
    await rig.flush();
    await filtered([]);
    expect(desk.tree()["x.log"]).toBe("ONE\ntwo\nTHREE\n");
    expect((await hostTree())["x.log"]).toBe("ONE\ntwo\nTHREE\n");
  });

  it("makes a conflict of an edit that no sync has seen before, too", async () => {
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

  it("brings back a file whose deletion no sync has seen before", async () => {
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

  it("lets deletions and edits be sent again once both sides are in sync", async () => {
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

describe("Truth 21: a sync that does not ask for secrets any more", () => {
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

  it("brings both sides together when it asks again, and deletes nothing", async () => {
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

  it("sends a deletion in the folder when it asks again, and brings back a secret that the origin deleted", async () => {
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
