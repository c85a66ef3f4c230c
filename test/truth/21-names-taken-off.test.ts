import { afterEach, describe, expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";
import { configure } from "../../src/engine/commit/config.ts";

/** If a name is taken off the secrets list of one side, nothing that the other side has made meanwhile is lost. */

const BOTH = "one\ntwo\nthree\n";
const THERE = "ONE\ntwo\nthree\n";
const HERE = "one\ntwo\nTHREE\n";

let rig: FolderRig;
afterEach(() => rig?.close());

const namedHere = (...names: string[]) => rig.during(configure(rig.desk.context, { protectedNames: names }));
const namedThere = (...names: string[]) => rig.during(rig.host.workspace.configure({ protectedNames: names }));
const hostTree = () => rig.during(rig.host.tree());
const IN_SYNC = { state: "in-sync", conflicts: 0, pending: 0 };

/** Both sides have the file, and then its name comes onto the list of one. */
async function listed(where: "here" | "there"): Promise<FolderRig> {
  rig = await FolderRig.start({ "conf.yml": BOTH, "a.txt": "a" });
  await rig.flush();
  await (where === "here" ? namedHere("conf.yml") : namedThere("conf.yml"));
  await rig.flush();
  return rig;
}

async function startedAgain(): Promise<void> {
  await rig.during(rig.desk.close());
  await rig.during(rig.desk.start());
  await rig.flush();
}

/** How the name is taken off: under a running sync, or while the sync is not running. */
const HOWS = ["as it runs", "while it is away"] as const;
type How = (typeof HOWS)[number];

async function takenOff(how: How): Promise<void> {
  if (how === "while it is away") await rig.during(rig.desk.close());
  if (how === "while it is away") {
    // A person who configures the workspace opens it for that.
    rig.desk.cut();
    await rig.during(rig.desk.start());
    rig.desk.heal();
  }
  await namedHere();
  await rig.flush();
}

describe.each(HOWS)("Truth 21: a name that is taken off the replica's list, %s", (how) => {
  it("brings the origin's new state of the file", async () => {
    const { desk, host } = await listed("here");
    await rig.during(host.write("conf.yml", THERE));
    await rig.flush();
    expect(desk.tree()["conf.yml"]).toBe(BOTH);
    await takenOff(how);
    expect(desk.tree()).toEqual({ "a.txt": "a", "conf.yml": THERE });
    expect(await hostTree()).toEqual({ "a.txt": "a", "conf.yml": THERE });
    expect(desk.sync.shape).toMatchObject(IN_SYNC);
    await startedAgain();
    expect(await hostTree()).toEqual({ "a.txt": "a", "conf.yml": THERE });
  });

  it("brings back the file that was deleted in the folder meanwhile", async () => {
    const { desk, host } = await listed("here");
    await rig.during(host.write("conf.yml", THERE));
    await rig.flush();
    desk.edit("conf.yml", undefined);
    await rig.flush();
    await takenOff(how);
    expect(await hostTree()).toEqual({ "a.txt": "a", "conf.yml": THERE });
    expect(desk.tree()).toEqual({ "a.txt": "a", "conf.yml": THERE });
    expect(desk.sync.shape).toMatchObject(IN_SYNC);
  });

  it("leaves an edit that was made in the folder meanwhile here, and makes a later edit a conflict", async () => {
    const { desk, host } = await listed("here");
    await rig.during(host.write("conf.yml", THERE));
    desk.edit("conf.yml", "of the desk\n");
    await rig.flush();
    await takenOff(how);
    expect(await hostTree()).toEqual({ "a.txt": "a", "conf.yml": THERE });
    expect(desk.tree()).toEqual({ "a.txt": "a", "conf.yml": "of the desk\n" });
    desk.edit("conf.yml", "of the desk, once more\n");
    await rig.flush();
    await rig.pass(2_000);
    await rig.flush();
    expect(await hostTree()).toEqual({ "a.txt": "a", "conf.yml": THERE });
    expect(desk.sync.shape).toMatchObject({ conflicts: 1 });
  });

  it("lets an edit right after it be merged with the origin's", async () => {
    const { desk, host } = await listed("here");
    await rig.during(host.write("conf.yml", THERE));
    await rig.flush();
    desk.cut();
    await rig.pass(500);
    await namedHere();
    desk.edit("conf.yml", HERE);
    await rig.pass(500);
    desk.heal();
    await rig.flush();
    if (how === "while it is away") await startedAgain();
    expect(await hostTree()).toEqual({ "a.txt": "a", "conf.yml": "ONE\ntwo\nTHREE\n" });
    expect(desk.tree()).toEqual({ "a.txt": "a", "conf.yml": "ONE\ntwo\nTHREE\n" });
    expect(desk.sync.shape).toMatchObject(IN_SYNC);
  });

  it("lets an edit be sent that was made before the name came onto the list", async () => {
    rig = await FolderRig.start({ "conf.yml": BOTH, "a.txt": "a" });
    await rig.flush();
    const { desk } = rig;
    desk.cut();
    desk.edit("conf.yml", HERE);
    await rig.pass(2_000);
    await namedHere("conf.yml");
    await rig.pass(2_000);
    desk.heal();
    await rig.flush();
    expect((await hostTree())["conf.yml"]).toBe(BOTH);
    await takenOff(how);
    expect((await hostTree())["conf.yml"]).toBe(HERE);
    expect(desk.sync.shape).toMatchObject(IN_SYNC);
  });
});

it("Truth 21: a deletion made while a name was on the list is not sent by a process that is started later", async () => {
  const { desk } = await listed("here");
  desk.cut();
  desk.edit("conf.yml", undefined);
  await rig.pass(2_000);
  await namedHere();
  // This process ends before it takes a step.
  await rig.during(desk.close());
  desk.heal();
  await rig.during(desk.start());
  await rig.flush();
  expect(await hostTree()).toEqual({ "a.txt": "a", "conf.yml": BOTH });
  expect(desk.tree()).toEqual({ "a.txt": "a", "conf.yml": BOTH });
});

it("Truth 21: a name that is taken off the origin's list deletes and replaces nothing there", async () => {
  const { desk, host } = await listed("there");
  await rig.during(host.write("conf.yml", THERE));
  await rig.flush();
  desk.edit("conf.yml", undefined);
  await rig.flush();
  await namedThere();
  await rig.flush();
  expect((await hostTree())["conf.yml"]).toBe(THERE);
  await rig.during(host.write("conf.yml", HERE));
  await rig.flush();
  expect((await hostTree())["conf.yml"]).toBe(HERE);
  expect(desk.tree()["conf.yml"]).toBe(HERE);
  expect(desk.sync.shape).toMatchObject(IN_SYNC);
});

it("Truth 21: edits and deletions of a file that nobody changed while its name was listed are sent afterwards", async () => {
  const { desk, host } = await listed("here");
  await namedHere();
  await rig.flush();
  desk.edit("conf.yml", HERE);
  await rig.flush();
  expect((await hostTree())["conf.yml"]).toBe(HERE);
  await rig.during(host.write("conf.yml", THERE));
  await rig.flush();
  expect(desk.tree()["conf.yml"]).toBe(THERE);
  desk.edit("conf.yml", undefined);
  await rig.flush();
  expect(await hostTree()).toEqual({ "a.txt": "a" });
  expect(desk.sync.shape).toMatchObject(IN_SYNC);
});
