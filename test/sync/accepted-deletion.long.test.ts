import { afterEach, describe, expect, it } from "vitest";
import { FolderRig, removeSim } from "../../src/testing/folder-rig.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";

/** A large deletion that somebody has accepted stays accepted until all of it is through, whatever happens then. */

let rig: FolderRig;
afterEach(() => rig.close());

const FILES = Object.fromEntries(Array.from({ length: 700 }, (_, i) => [`f${1000 + i}`, "same\n"]));
/** More files than are sent, or taken, at once. */
const GONE = Object.keys(FILES).slice(0, 600);
const LEFT = Object.fromEntries(Object.entries(FILES).slice(600));

const isHalted = (): boolean => rig.desk.sync.shape.state === "halted";

async function accepted(): Promise<void> {
  await rig.until(isHalted);
  await rig.during(rig.desk.sync.resume({ accept: "deletions" }));
}

async function everythingIsThrough(): Promise<void> {
  await rig.flush();
  expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync", pending: 0 });
  expect(rig.desk.tree()).toEqual(LEFT);
  expect(await rig.during(rig.host.tree())).toEqual(LEFT);
}

it("an accepted deletion in the folder goes through, though answers are lost with the connection", async () => {
  rig = await FolderRig.start(FILES);
  await rig.flush();
  for (const name of GONE) rig.desk.edit(name, undefined);
  await accepted();
  await rig.until(() => rig.desk.sync.shape.pending > 0);
  for (let cuts = 0; cuts < 4; cuts += 1) {
    await rig.pass(20);
    rig.desk.cut();
    await rig.pass(200);
    rig.desk.heal();
    await rig.pass(1_000);
  }
  await everythingIsThrough();
});

it("an accepted deletion at the origin goes through, though it comes in pieces", async () => {
  rig = await FolderRig.start(FILES);
  await rig.flush();
  for (const name of GONE.slice(0, 450)) await rig.during(rig.host.write(name, undefined));
  await rig.until(isHalted);
  // The rest is deleted at the origin, but this has not come yet.
  for (const name of GONE.slice(450)) await rig.during(rig.host.write(name, undefined));
  await rig.during(rig.desk.sync.resume({ accept: "deletions" }));
  await everythingIsThrough();
});

it.each(["here", "at the origin"])(
  "a file that is deleted right after an accepted deletion (%s) is not counted with it",
  async (where) => {
    rig = await FolderRig.start(FILES);
    await rig.flush();
    for (const name of GONE) rig.desk.edit(name, undefined);
    await accepted();
    await rig.until(() => rig.desk.sync.shape.pending > 0);
    const [one = "", ...others] = Object.keys(LEFT);
    await rig.until(() => rig.desk.sync.shape.state === "in-sync");
    if (where === "here") rig.desk.edit(one, undefined);
    else await rig.during(rig.host.write(one, undefined));
    await rig.flush();
    expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync", pending: 0 });
    expect(Object.keys(rig.desk.tree())).toEqual(others);
  },
);

it("an accepted deletion at the origin does not include what is deleted here before the origin is reached", async () => {
  rig = await FolderRig.start(FILES);
  await rig.flush();
  for (const name of GONE.slice(0, 450)) await rig.during(rig.host.write(name, undefined));
  await rig.until(isHalted);
  rig.desk.cut();
  await rig.during(rig.desk.sync.resume({ accept: "deletions" }));
  await rig.pass(2_000);
  for (const name of GONE.slice(450)) rig.desk.edit(name, undefined);
  await rig.until(isHalted);
  expect(rig.desk.sync.shape.reason).toContain("deleted here");
});

describe("an accepted deletion in a folder that is not watched yet, while the origin sends something", () => {
  /** Accepts the deletion, and checks that it goes through. The connection is made before the folder is looked at. */
  async function acceptedMeanwhile(): Promise<void> {
    await rig.during(rig.host.write("from-origin", "1"));
    await rig.during(rig.desk.start());
    rig.desk.watchMs = 500;
    await rig.during(rig.desk.sync.resume({ accept: "deletions" }));
    await rig.flush();
    expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync" });
    expect(await rig.during(rig.host.tree())).toEqual({ ...LEFT, "from-origin": "1" });
  }

  it("goes through if it has halted the sync before", async () => {
    rig = await FolderRig.start(FILES);
    await rig.flush();
    for (const name of GONE) rig.desk.edit(name, undefined);
    await rig.until(isHalted);
    await rig.during(rig.desk.close());
    await acceptedMeanwhile();
  });

  it("goes through if nobody has seen it so far", async () => {
    rig = await FolderRig.start(FILES);
    await rig.flush();
    await rig.during(rig.desk.sync.pause());
    await rig.during(rig.desk.close());
    for (const name of GONE) removeSim(rig.desk.disk, `${FOLDER}/${name}`);
    await acceptedMeanwhile();
  });
});
