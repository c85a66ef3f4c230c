import { afterEach, describe, expect, it } from "vitest";
import type { WorkspacePath } from "../../src/core/values/path.ts";
import { FolderRig } from "../../src/testing/folder-rig.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";
import { listOperations } from "../../src/engine/undo/operations.ts";
import { redo, undo } from "../../src/engine/undo/undo.ts";
import { verify } from "../../src/engine/upkeep/verify.ts";
import type { Resolution } from "../../src/replication/folder/cycle/resolve-sync-conflict.ts";

/**
 * A resolve is an operation of its own, whichever side it takes, so that what it took from the origin can be undone.
 */

let rig: FolderRig;
afterEach(() => rig.close());

async function disputed(): Promise<void> {
  rig = await FolderRig.start({ f: "1" });
  await rig.flush();
  rig.desk.cut();
  rig.desk.edit("f", "mine");
  await rig.during(rig.host.write("f", "theirs"));
  await rig.pass(500);
  rig.desk.heal();
  await rig.flush();
  expect(rig.desk.sync.shape.conflicts).toBe(1);
}

function save(name: string): void {
  const { disk } = rig.desk;
  const fd = disk.open(`${FOLDER}/${name}`, "read");
  disk.sync(fd);
  disk.close(fd);
  disk.syncFolder(FOLDER);
}

const resolve = (path: string, resolution: Resolution) =>
  rig.during(rig.desk.sync.resolve(path as WorkspacePath, resolution));

async function step(work: typeof undo): Promise<void> {
  await rig.during(work(rig.desk.context));
  rig.desk.hint("f", "d");
  await rig.flush();
}

async function operations(): Promise<string[]> {
  const { context } = rig.desk;
  return (await rig.during(listOperations(context))).filter(({ kind }) => kind === "resolve").map((one) => one.summary);
}

describe.each<[string, Resolution, { desk: string; host: string }]>([
  ["the origin's side was taken", { keep: "upstream" }, { desk: "theirs", host: "theirs" }],
  ["the folder's side was kept", { keep: "local" }, { desk: "mine", host: "mine" }],
  ["a content was given", { keep: "merge", content: Buffer.from("ours") }, { desk: "ours", host: "ours" }],
])("%s", (_, resolution, after) => {
  it("is an operation; undo brings the folder's side back, and redo settles the conflict", async () => {
    await disputed();
    await resolve("f", resolution);
    await rig.flush();
    expect([rig.desk.tree()["f"], (await rig.during(rig.host.tree()))["f"]]).toEqual([after.desk, after.host]);
    expect(await operations()).toEqual([expect.stringMatching(/^resolve of f: /)]);
    await step(undo);
    expect(rig.desk.tree()["f"]).toBe("mine");
    await step(redo);
    expect(rig.desk.tree()["f"]).toBe(after.desk);
    await rig.flush();
    expect((await rig.during(rig.host.tree()))["f"]).toBe(after.host);
    expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
    expect((await rig.during(verify(rig.desk.context))).problems).toEqual([]);
  });
});

it("a resolve with the origin's side stores no version there, and its undo opens the conflict again", async () => {
  await disputed();
  const versions = async () => (await rig.during(rig.host.workspace.versions())).length;
  const before = await versions();
  await resolve("f", { keep: "upstream" });
  await rig.flush();
  expect(await versions()).toBe(before);
  expect((await rig.during(rig.desk.hold.context.index.iterations("f" as WorkspacePath))).length).toBe(3);
  await step(undo);
  const conflicts = await rig.during(rig.desk.sync.conflicts());
  expect(conflicts.map(({ record: { path, state } }) => [path, state])).toEqual([["f", "open"]]);
  expect((await rig.during(rig.host.tree()))["f"]).toBe("theirs");
});

it("a resolve with the folder's side that is undone before the origin hears of it opens the conflict again", async () => {
  await disputed();
  rig.desk.cut();
  await resolve("f", { keep: "local" });
  await rig.pass(5_000);
  await rig.during(undo(rig.desk.context));
  rig.desk.hint("f");
  await rig.pass(5_000);
  rig.desk.heal();
  await rig.flush();
  expect((await rig.during(rig.host.tree()))["f"]).toBe("theirs");
  expect(rig.desk.tree()["f"]).toBe("mine");
  expect(rig.desk.sync.shape.conflicts).toBe(1);
});

it("a resolve with the folder's side that is undone and redone before the origin hears of it reaches the origin", async () => {
  await disputed();
  rig.desk.cut();
  await resolve("f", { keep: "local" });
  await rig.pass(5_000);
  for (const work of [undo, redo]) {
    await rig.during(work(rig.desk.context));
    rig.desk.hint("f");
    await rig.pass(5_000);
  }
  rig.desk.heal();
  await rig.flush();
  expect((await rig.during(rig.host.tree()))["f"]).toBe("mine");
  expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
});

it("undo brings back a folder that a resolve replaced, with everything in it", async () => {
  rig = await FolderRig.start({ "d/f": "1" });
  await rig.flush();
  rig.desk.cut();
  rig.desk.edit("d/f", "changed");
  rig.desk.edit("d/own", "2");
  await rig.during(rig.host.write("d", undefined));
  await rig.during(rig.host.write("d", "a file"));
  await rig.pass(500);
  rig.desk.heal();
  await rig.flush();
  await resolve("d", { keep: "upstream" });
  await rig.flush();
  expect(rig.desk.tree()).toEqual({ d: "a file" });
  expect(await operations()).toEqual(["resolve of d: the upstream's side was taken"]);
  await step(undo);
  expect(rig.desk.tree()).toEqual({ "d/": "", "d/f": "changed", "d/own": "2" });
  expect(await rig.during(rig.host.tree())).toEqual({ d: "a file" });
});

it("a resolve whose file cannot be written is no operation, and the conflict stays open", async () => {
  await disputed();
  rig.desk.machine.plan(({ name, path, reads }) =>
    !reads && name === "rename" && path.startsWith("/proc/self/fd/") ? { errno: "EACCES" } : "go",
  );
  await expect(resolve("f", { keep: "upstream" })).rejects.toMatchObject({ code: "REFUSED" });
  expect(await operations()).toEqual([]);
  expect(await rig.during(rig.desk.sync.conflicts())).toMatchObject([{ record: { path: "f", state: "open" } }]);
  expect(rig.desk.tree()["f"]).toBe("mine");
  rig.desk.machine.plan(() => "go");
});

it.each(["keep", "forget"] as const)(
  "a resolve that is cut off anywhere is done as one operation, or not at all (%s)",
  async (fate) => {
    let isThrough = false;
    for (let at = 0; !isThrough; at += 1) {
      await disputed();
      // The edit reaches the disk before the power is lost.
      save("f");
      let writes = 0;
      rig.desk.machine.plan(({ reads }) => (!reads && (writes += 1) > at ? "stop-after" : "go"));
      await resolve("f", { keep: "upstream" }).catch(() => undefined);
      isThrough = !rig.desk.disk.stopped;
      rig.desk.cut();
      await rig.during(rig.desk.close().catch(() => undefined));
      rig.desk.machine.losePower(fate);
      rig.desk.heal();
      await rig.during(rig.desk.start());
      await rig.flush();
      const steps = (await operations()).length;
      expect(rig.desk.sync.shape.conflicts, `cut after write ${at}`).toBe(1 - steps);
      expect(rig.desk.tree()["f"], `cut after write ${at}`).toBe(steps === 1 ? "theirs" : "mine");
      expect((await rig.during(rig.host.tree()))["f"]).toBe("theirs");
      if (!isThrough) await rig.close();
    }
  },
);

describe("a content that was merged from both sides", () => {
  const given = async () => {
    const { current, wanted } = (await rig.during(rig.desk.sync.conflicts()))[0]?.record ?? {};
    return { current_hash: current?.hash ?? "", undo_hash: wanted?.hash ?? "" };
  };

  it.each<[string, () => Promise<unknown>]>([
    ["the origin", () => rig.during(rig.host.write("f", "theirs, later"))],
    ["the folder", async () => rig.desk.edit("f", "mine, later")],
  ])("settles nothing once %s has changed its side", async (_, change) => {
    await disputed();
    const from = await given();
    await change();
    await rig.flush();
    const sides = async () => [rig.desk.tree()["f"], (await rig.during(rig.host.tree()))["f"]];
    const before = await sides();
    const merge = { keep: "merge", content: Buffer.from("both") } as const;
    await expect(resolve("f", { ...merge, from })).rejects.toMatchObject({ code: "REFUSED", data: { changed: true } });
    await rig.flush();
    expect([await sides(), rig.desk.sync.shape.conflicts]).toEqual([before, 1]);
    await resolve("f", { ...merge, from: await given() });
    await rig.flush();
    expect([await sides(), rig.desk.sync.shape.conflicts]).toEqual([["both", "both"], 0]);
  });
});
