import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RestoreShape } from "../../src/api/shapes.ts";
import { ReplicaRig } from "../../src/testing/replica-rig.ts";
import { restore } from "../../src/engine/undo/restore.ts";
import { takeSnapshot } from "../../src/engine/read/snapshot.ts";
import { undo } from "../../src/engine/undo/undo.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { FollowedOrigin } from "../helpers/followed-origin.ts";

/** Applies files of the origin, with the origin's events. */
async function bring(rig: ReplicaRig, files: Readonly<Record<string, string>>, from: number): Promise<void> {
  const changes = [];
  for (const [i, [path, text]] of Object.entries(files).entries())
    changes.push(await rig.change(path, await rig.file(path, text), { upstream: { seq: from + i, iteration: 1 } }));
  await rig.apply({ applied: from + changes.length - 1, changes });
}

const left = ({ skipped }: RestoreShape): string[] => skipped.map(({ path, reason }) => `${path} ${reason}`);

describe("Truth: a restore in a replica deletes nothing that the origin may have had", () => {
  it("`latest` in a fresh replica is the state that first came from the origin", async () => {
    await using rig = await ReplicaRig.open();
    await bring(rig, { a: "1", b: "2" }, 3);
    await rig.edit("a", "mine");
    await rig.edit("own", "mine");
    const done = await restore(rig.context, "latest");
    expect(left(done)).toEqual([]);
    expect(rig.files()).toEqual({ a: "1", b: "2" });
    await undo(rig.context);
    expect(rig.files()).toEqual({ a: "mine", b: "2", own: "mine" });
  });

  it("a later snapshot becomes `latest`", async () => {
    await using rig = await ReplicaRig.open();
    await bring(rig, { a: "1" }, 3);
    await rig.edit("a", "mine");
    await takeSnapshot(rig.context);
    await rig.edit("a", "more");
    await restore(rig.context, "latest");
    expect(rig.files()).toEqual({ a: "mine" });
  });

  it.each(["0", "baseline", "seq:3"])(
    "%s, before the origin's files came: these stay, and files made in the replica go",
    async (moment) => {
      await using rig = await ReplicaRig.open({ own: "own" });
      await bring(rig, { a: "1", b: "2" }, 3);
      await rig.edit("own", "edited");
      await rig.edit("new", "new");
      await rig.edit("b", "edited");
      const done = await restore(rig.context, moment);
      expect(left(done)).toEqual(["a unseen", "b unseen"]);
      expect(rig.files()).toEqual({ a: "1", b: "edited", own: "own" });
    },
  );

  it("a file that the origin made later goes, and one that it had then and withheld stays", async () => {
    await using rig = await ReplicaRig.open();
    await bring(rig, { a: "1" }, 5);
    const moment = await rig.head();
    await bring(rig, { later: "later" }, 6);
    const withheld = await rig.change("withheld", await rig.file("withheld", "w"), {
      upstream: { seq: 4, iteration: 1 },
    });
    await rig.apply({ applied: 7, changes: [withheld] });
    const done = await restore(rig.context, `seq:${moment}`);
    expect(left(done)).toEqual(["withheld unseen"]);
    expect(rig.files()).toEqual({ a: "1", withheld: "w" });
  });

  it("an undo of everything since then deletes none of them either", async () => {
    await using rig = await ReplicaRig.open();
    await bring(rig, { a: "1" }, 3);
    await rig.edit("own", "mine");
    const done = await undo(rig.context, { since: "0" });
    expect(left(done)).toEqual(["a unseen"]);
    expect(rig.files()).toEqual({ a: "1" });
  });

  it("`restore latest` by a program without a terminal undoes the replica's own edit and nothing else", async () => {
    await using both = new FollowedOrigin("--connect");
    const { origin, replica: desk } = both;
    for (const name of ["f1", "f2", "f3"]) writeFileSync(join(origin.project, name), `${name}\n`);
    await both.start();
    await both.flush();
    writeFileSync(join(desk.folder, "f1"), "edited\n");
    const words = [chronicleBin(), "restore", "latest", "--json"];
    const ran = spawnSync(process.execPath, words, { cwd: desk.folder, env: desk.env, encoding: "utf8" });
    expect([ran.status, ran.stderr]).toEqual([0, ""]);
    for (const name of ["f1", "f2", "f3"]) expect(readFileSync(join(desk.folder, name), "utf8")).toBe(`${name}\n`);
    await both.flush();
    for (const name of ["f1", "f2", "f3"]) expect(readFileSync(join(origin.project, name), "utf8")).toBe(`${name}\n`);
  }, 180_000);
});
