import { afterEach, describe, expect, it } from "vitest";
import { sha256 } from "../../src/core/hash.ts";
import { FolderRig } from "../../src/testing/folder-rig.ts";
import { erase } from "../../src/workspace/erase.ts";
import { listErasures } from "../../src/workspace/unerase.ts";
import { verify } from "../../src/workspace/verify.ts";

/** What the origin erases is its own to erase: a folder that follows it keeps what it recorded until that is erased there as well. */

const SECRET = "a secret that got in\n";

let rig: FolderRig;
afterEach(() => rig?.close());

describe("Truth 18: erasing with replicas", () => {
  it("a folder that follows erases what is the origin's only after the origin", async () => {
    rig = await FolderRig.start({ "config.txt": SECRET, "a.txt": "a" });
    await rig.flush();
    await rig.during(rig.host.write("config.txt", "clean\n"));
    await rig.flush();
    const { context } = rig.desk;
    await expect(rig.during(erase(context, { what: "config.txt" }))).rejects.toMatchObject({
      code: "REFUSED",
      message: expect.stringContaining("the origin's"),
    });

    const done = await rig.during(rig.host.workspace.erase({ what: "config.txt", reason: "it got in" }));
    expect(done).toMatchObject({ total: 1, contents: [{ hash: sha256(SECRET) }] });
    await rig.flush();
    // What came is recorded here as well, and is this folder's until somebody erases it here.
    expect(await rig.during(listErasures(context))).toEqual([]);
    expect(await rig.during(erase(context, { what: sha256(SECRET) }))).toMatchObject({ total: 1 });
    expect(await rig.during(verify(context))).toMatchObject({ ok: true });
    expect(await rig.during(rig.host.workspace.verify())).toMatchObject({ ok: true });
  });

  it("who joins later is not given it, and is in sync and sound", async () => {
    rig = new FolderRig();
    await rig.during(rig.host.open());
    for (const [path, text] of [
      ["config.txt", SECRET],
      ["config.txt", "clean\n"],
      ["a.txt", "a"],
    ] as const)
      await rig.during(rig.host.write(path, text));
    await rig.during(rig.host.workspace.erase({ what: "config.txt" }));
    await rig.during(rig.desk.start());
    await rig.flush();
    expect(rig.desk.tree()).toEqual({ "a.txt": "a", "config.txt": "clean\n" });
    const { context } = rig.desk;
    expect(await rig.during(context.store.stored([sha256(SECRET)]))).toEqual(new Set());
    expect(await rig.during(verify(context))).toMatchObject({ ok: true });
    await rig.during(rig.host.write("back.txt", SECRET));
    await rig.flush();
    expect(rig.desk.tree()).toMatchObject({ "back.txt": SECRET });
    expect(await rig.during(verify(context))).toMatchObject({ ok: true });
  });

  it("what comes from the origin again is put into the folder, though it was erased here", async () => {
    rig = await FolderRig.start({ "a.txt": "a" });
    await rig.flush();
    rig.desk.edit("own.txt", SECRET);
    await rig.flush();
    rig.desk.edit("own.txt", undefined);
    await rig.flush();
    await rig.during(rig.host.workspace.erase({ match: "own.txt" }));
    await rig.flush();
    await rig.during(erase(rig.desk.context, { match: "own.txt" }));
    await rig.during(rig.host.write("again.txt", SECRET));
    await rig.flush();
    expect(rig.desk.tree()).toEqual({ "a.txt": "a", "again.txt": SECRET });
    expect(await rig.during(verify(rig.desk.context))).toMatchObject({ ok: true });
  });
});
