import { afterEach, describe, expect, it } from "vitest";
import type { EraseShape } from "../../src/api/action-shapes.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { FolderRig } from "../../src/testing/folder-rig.ts";
import { erase, listErasures, unerase } from "../../src/engine/upkeep/erase.ts";
import { historyOf } from "../../src/engine/read/history.ts";
import { verify } from "../../src/engine/upkeep/verify.ts";

/**
 * What the origin erases is erased in the history of a folder that follows it, by the same rule and for the same time,
 * but not in the folder itself.
 */

const SECRET = "a secret that got in\n";
const HASH = sha256(SECRET);
const DAY_MS = 24 * 3_600_000;

let rig: FolderRig;
afterEach(() => rig?.close());

/** The origin and the folder had the secret in `config.txt`, and do not have it any more. */
async function shared(more: Parameters<typeof FolderRig.start>[1] = {}): Promise<void> {
  rig = await FolderRig.start({ "config.txt": SECRET, "a.txt": "a" }, more);
  await rig.flush();
  await rig.during(rig.host.write("config.txt", "clean\n"));
  await rig.flush();
}

const eraseThere = (what: object): Promise<EraseShape> => rig.during(rig.host.workspace.erase(what));
/** Returns the secret if the folder's own history serves it. */
const given = async (): Promise<string | undefined> => (await rig.during(rig.desk.context.blobs.get(HASH)))?.toString();
const stored = async (): Promise<boolean> => (await rig.during(rig.desk.context.store.stored([HASH]))).has(HASH);

/** Puts the clock of one side forward. */
function passAt(side: "desk" | "host", ms: number): void {
  rig[side].machine.skewMs += ms;
}

async function areSound(): Promise<void> {
  expect(await rig.during(verify(rig.desk.context))).toMatchObject({ ok: true, problems: [] });
  expect(await rig.during(rig.host.workspace.verify())).toMatchObject({ ok: true, problems: [] });
  expect(rig.desk.sync.shape).toMatchObject({ conflicts: 0 });
  expect(rig.desk.sync.shape.halted).toBeUndefined();
}

describe("Truth 18: erasing with replicas", () => {
  it("a content that the origin erases is not served by the folder's history any more, and freed after a day", async () => {
    await shared();
    const { context } = rig.desk;
    expect(await given()).toBe(SECRET);
    const tree = rig.desk.tree();
    const { id } = await eraseThere({ what: "config.txt", reason: "it got in" });
    await rig.flush();
    expect(await rig.during(listErasures(context))).toMatchObject([{ id, total: 1, reason: "it got in" }]);
    expect(await given()).toBeUndefined();
    const iterations = await rig.during(historyOf(context, "config.txt"));
    expect(iterations.find(({ hash }) => hash === HASH)).toMatchObject({ erased_by: expect.any(Number) });
    await areSound();
    await rig.during(context.store.collect());
    expect(await stored()).toBe(true);
    passAt("desk", DAY_MS + 60_000);
    await rig.during(context.store.collect());
    expect(await stored()).toBe(false);
    expect(rig.desk.tree()).toEqual(tree);
    await areSound();
  });

  it("a content that the origin brings back is served again", async () => {
    await shared();
    const { id } = await eraseThere({ what: "config.txt" });
    await rig.flush();
    expect(await given()).toBeUndefined();
    await rig.during(rig.host.workspace.unerase(id ?? ""));
    await rig.flush();
    expect(await rig.during(listErasures(rig.desk.context))).toEqual([]);
    expect(await given()).toBe(SECRET);
    passAt("desk", 2 * DAY_MS);
    await rig.during(rig.desk.context.store.collect());
    expect(await given()).toBe(SECRET);
    await areSound();
  });

  it("a folder that was away learns of an erasure, and of its withdrawal, when it comes back", async () => {
    await shared();
    await rig.during(rig.desk.close());
    const { id } = await eraseThere({ what: "config.txt" });
    await rig.during(rig.desk.start());
    await rig.flush();
    expect(await given()).toBeUndefined();
    await rig.during(rig.desk.close());
    await rig.during(rig.host.workspace.unerase(id ?? ""));
    await rig.during(rig.desk.start());
    await rig.flush();
    expect(await given()).toBe(SECRET);
    await areSound();
  });

  it("an erasure and the next state of the file may arrive in one step", async () => {
    rig = await FolderRig.start({ "config.txt": SECRET, "a.txt": "a" });
    await rig.flush();
    rig.desk.cut();
    await rig.during(rig.host.write("config.txt", "clean\n"));
    await eraseThere({ what: "config.txt" });
    rig.desk.heal();
    await rig.flush();
    expect(rig.desk.tree()).toEqual({ "a.txt": "a", "config.txt": "clean\n" });
    expect(await given()).toBeUndefined();
    await areSound();
  });

  it("a content that a path of the folder's own has now is not erased here", async () => {
    rig = await FolderRig.start({ "config.txt": SECRET, "a.txt": "a" }, { record: { filterFrom: ["own/"] } });
    await rig.flush();
    rig.desk.edit("own/notes.txt", SECRET);
    await rig.during(rig.host.write("config.txt", "clean\n"));
    await rig.flush();
    await eraseThere({ what: "config.txt" });
    await rig.flush();
    expect(rig.desk.tree()).toMatchObject({ "own/notes.txt": SECRET, "config.txt": "clean\n" });
    expect(await given()).toBe(SECRET);
    passAt("desk", 2 * DAY_MS);
    await rig.during(rig.desk.context.store.collect());
    expect(await given()).toBe(SECRET);
    await areSound();
  });

  it("a folder that was away, and has the content at another path now, does not bring it back to the origin", async () => {
    rig = await FolderRig.start({ "config.txt": SECRET, "a.txt": "a" });
    await rig.flush();
    rig.desk.cut();
    await rig.during(rig.host.write("config.txt", "clean\n"));
    await eraseThere({ what: "config.txt" });
    rig.desk.edit("config.txt", undefined);
    rig.desk.edit("renamed.txt", SECRET);
    rig.desk.heal();
    const { refused } = await rig.during(rig.desk.sync.flush());
    expect(refused).toMatchObject([
      { path: "renamed.txt", reason: "erased", hint: expect.stringContaining("chronicle unerase") },
    ]);
    expect(rig.desk.tree()).toMatchObject({ "renamed.txt": SECRET });
    expect(Object.keys(await rig.during(rig.host.tree()))).not.toContain("renamed.txt");
    expect(await rig.during(rig.host.workspace.erasures())).toMatchObject([{ total: 1 }]);
    await expect(rig.during(rig.host.workspace.cat("config.txt", 1))).rejects.toMatchObject({ code: "ERASED" });
    expect(await rig.during(rig.host.workspace.verify())).toMatchObject({ ok: true, problems: [] });
    expect(await rig.during(verify(rig.desk.context))).toMatchObject({ ok: true, problems: [] });
  });

  it("a folder cannot erase a content of the origin's history before the origin has done it", async () => {
    await shared();
    await expect(rig.during(erase(rig.desk.context, { what: "config.txt" }))).rejects.toMatchObject({
      code: "REFUSED",
      message: expect.stringContaining("to the origin"),
    });
    await eraseThere({ what: "config.txt" });
    await rig.flush();
    expect(await rig.during(erase(rig.desk.context, { what: HASH }))).toMatchObject({ total: 0, already: 1 });
  });

  it("a content erased at once at the origin stays a day here, unless a person erases it at once here, too", async () => {
    await shared();
    await eraseThere({ what: "config.txt", now: true });
    await rig.flush();
    const { context } = rig.desk;
    await rig.during(context.store.collect());
    expect(await stored()).toBe(true);
    expect(await given()).toBeUndefined();
    await rig.during(rig.desk.close());
    await rig.during(rig.desk.start());
    const work = rig.desk.context;
    expect(await rig.during(erase(work, { what: HASH, now: true }))).toMatchObject({ total: 1, freed: true });
    expect(await stored()).toBe(false);
    await areSound();
  });

  it("a content that a person erases at once here waits for the grace period of the origin's history", async () => {
    await shared();
    await eraseThere({ what: "config.txt" });
    await rig.flush();
    const done = await rig.during(erase(rig.desk.context, { what: HASH, now: true }));
    expect(done).toMatchObject({ total: 1, freed: false, not_freed: expect.stringContaining("origin's history") });
    passAt("desk", DAY_MS + 60_000);
    await rig.during(rig.desk.context.store.collect());
    expect(await stored()).toBe(false);
    await areSound();
  });

  it("an unerase in the folder's history keeps the content here for good", async () => {
    await shared();
    const { id } = await eraseThere({ what: "config.txt" });
    await rig.flush();
    await rig.during(unerase(rig.desk.context, id ?? ""));
    await rig.during(rig.desk.close());
    await rig.during(rig.desk.start());
    await rig.during(rig.host.write("a.txt", "b"));
    await rig.flush();
    expect(await given()).toBe(SECRET);
    passAt("desk", 2 * DAY_MS);
    await rig.during(rig.desk.context.store.collect());
    expect(await given()).toBe(SECRET);
    await areSound();
  });

  it("a folder that joins later does not get the content, is in sync and sound, and does not record it either", async () => {
    rig = new FolderRig();
    await rig.during(rig.host.open());
    for (const [path, text] of [
      ["config.txt", SECRET],
      ["config.txt", "clean\n"],
      ["a.txt", "a"],
    ] as const)
      await rig.during(rig.host.write(path, text));
    const { id } = await eraseThere({ what: "config.txt" });
    await rig.during(rig.desk.start());
    await rig.flush();
    expect(rig.desk.tree()).toEqual({ "a.txt": "a", "config.txt": "clean\n" });
    expect(await stored()).toBe(false);
    await areSound();
    rig.desk.edit("found.txt", SECRET);
    await rig.flush();
    expect(await rig.during(rig.host.tree())).toEqual({ "a.txt": "a", "config.txt": "clean\n" });
    expect(await stored()).toBe(false);
    expect(rig.desk.tree()).toMatchObject({ "found.txt": SECRET });
    rig.desk.edit("found.txt", undefined);
    await rig.during(rig.host.workspace.unerase(id ?? ""));
    await rig.flush();
    expect(await stored()).toBe(true);
    await areSound();
  });

  it("a folder that was away until the origin had dropped the event erases the content, too", async () => {
    await shared();
    await rig.during(rig.desk.close());
    await eraseThere({ what: "config.txt" });
    await rig.during(rig.host.write("a.txt", "b"));
    await rig.during(rig.host.workspace.compact({ dropArchive: true }));
    await rig.during(rig.desk.start());
    await rig.flush();
    expect(rig.desk.tree()).toEqual({ "a.txt": "b", "config.txt": "clean\n" });
    await areSound();
    expect(await given()).toBeUndefined();
    passAt("desk", DAY_MS + 60_000);
    await rig.during(rig.desk.context.store.collect());
    expect(await stored()).toBe(false);
    await areSound();
  });

  it("a content that the origin records again is put into the folder, and served", async () => {
    await shared();
    await eraseThere({ what: "config.txt" });
    await rig.flush();
    await rig.during(rig.host.write("again.txt", SECRET));
    await rig.flush();
    expect(rig.desk.tree()).toMatchObject({ "again.txt": SECRET });
    expect(await given()).toBe(SECRET);
    await areSound();
  });

  it("pending edits of the folder are sent, although one of them has the erased content", async () => {
    await shared();
    rig.desk.cut();
    rig.desk.edit("mine.txt", SECRET);
    await rig.pass(3_000);
    rig.desk.edit("mine.txt", "next\n");
    await rig.pass(3_000);
    await eraseThere({ what: "config.txt" });
    rig.desk.heal();
    await rig.flush();
    expect(await rig.during(rig.host.tree())).toMatchObject({ "mine.txt": "next\n" });
    await areSound();
  });

  it("an edit in the folder is merged with the origin's edit, although their base is erased", async () => {
    const lines = (first: string, last: string): string => `${first}\n1\n2\n3\n4\n5\n6\n${last}\n`;
    rig = await FolderRig.start({ "config.txt": lines("secret", "end") });
    await rig.flush();
    rig.desk.cut();
    rig.desk.edit("config.txt", lines("secret", "own end"));
    await rig.pass(3_000);
    await rig.during(rig.host.write("config.txt", lines("clean", "end")));
    await eraseThere({ what: "config.txt" });
    rig.desk.heal();
    await rig.flush();
    expect(rig.desk.tree()).toEqual({ "config.txt": lines("clean", "own end") });
    expect(await rig.during(rig.host.tree())).toEqual({ "config.txt": lines("clean", "own end") });
    await areSound();
  });
});
