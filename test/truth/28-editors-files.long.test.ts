import { afterEach, describe, expect, it } from "vitest";
import { FolderRig, type FolderRigOptions } from "../../src/testing/folder-rig.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";

/** Only files that an editor really makes are left out of a sync, both ways alike, and each of them is named. */

let rig: FolderRig;
afterEach(() => rig.close());

async function started(begin: Readonly<Record<string, string>>, more: FolderRigOptions = {}): Promise<void> {
  rig = await FolderRig.start(begin, more);
  await rig.flush();
}

const shape = () => rig.desk.sync.shape;
const atOrigin = () => rig.during(rig.host.tree());

async function write(side: string, files: Readonly<Record<string, string | undefined>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    if (side === "desk") rig.desk.edit(name, content);
    else await rig.during(rig.host.write(name, content));
  }
  await rig.flush();
}

/** Files whose names look like an editor's, but which a person has made. */
const SOMEBODYS: Readonly<Record<string, string>> = {
  "src~/a.c": "in a folder",
  "backup~/b.c": "in a folder",
  "#x#": "no file x",
  "foo.swp": "swapped",
  "dd/.DS_Store/c": "a folder",
  "notes~": "no file notes",
  ".bar.swp": "no file bar",
  "Thumbs.db": "text",
  "desktop.ini": "[x]",
  ".directory": "[y]",
  "~$long.docx": "x".repeat(2_000),
};

/** Ordinary files, and the files that editors and desktops make beside them. */
const PLAIN: Readonly<Record<string, string>> = { "a.txt": "a", "d/b.txt": "b" };
const MADE: Readonly<Record<string, string>> = {
  "a.txt~": "a before",
  "a.txt.~1~": "a long before",
  "#a.txt#": "a unsaved",
  ".a.txt.swp": "swap",
  "d/.b.txt.swo": "swap",
  ".new.swp": "b0VIM".padEnd(12_288, "\0"),
  ".DS_Store": "Bud1".padEnd(6_148, "\0"),
  "d/.~lock.b.txt#": ",me,host,",
  "~$report.docx": "owner",
  "a.txt___jb_tmp___": "a",
};

const files = (tree: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(tree).filter(([name]) => !name.endsWith("/")));

describe("Truth 28: names like editors' leftovers", () => {
  it.each(["desk", "origin"])(
    "a person's files and folders with such names are synced, made on this side: %s",
    async (side) => {
      await started(PLAIN);
      await write(side, SOMEBODYS);
      expect(files(rig.desk.tree())).toEqual({ ...PLAIN, ...SOMEBODYS });
      expect(files(await atOrigin())).toEqual({ ...PLAIN, ...SOMEBODYS });
      expect(shape()).not.toHaveProperty("kept_back");
      // Their edits and deletions are synced, too.
      const other = side === "desk" ? "origin" : "desk";
      await write(other, { "notes~": "edited", "#x#": undefined });
      expect(files(await atOrigin())).toEqual(files(rig.desk.tree()));
      expect(files(rig.desk.tree())).toMatchObject({ "notes~": "edited" });
      expect(rig.desk.tree()).not.toHaveProperty("#x#");
    },
  );

  it("an editor's files that were at the origin before the desk follows it stay there", async () => {
    await started({ ...PLAIN, ...SOMEBODYS, ...MADE });
    expect(files(rig.desk.tree())).toEqual({ ...PLAIN, ...SOMEBODYS });
    expect(shape()).toMatchObject({ state: "in-sync", left_out: 10, kept_back: 10 });
    expect(shape().left_out_paths).toContainEqual({ path: "a.txt~", side: "upstream" });
    // The editor's files are not deleted at the origin because they are not here.
    await rig.during(rig.desk.close());
    await rig.during(rig.desk.start());
    await rig.flush();
    expect(files(await atOrigin())).toEqual({ ...PLAIN, ...SOMEBODYS, ...MADE });
    expect(shape()).toMatchObject({ state: "in-sync", left_out: 10 });
  });

  it.each(["desk", "origin"])("an editor's files stay on their side, and are named: %s", async (side) => {
    await started(PLAIN);
    await write(side, MADE);
    const own = { ...PLAIN, ...MADE };
    expect(files(rig.desk.tree())).toEqual(side === "desk" ? own : PLAIN);
    expect(files(await atOrigin())).toEqual(side === "desk" ? PLAIN : own);
    const named = Object.keys(MADE).map((path) => ({ path, side: side === "desk" ? "local" : "upstream" }));
    expect(shape()).toMatchObject({ state: "in-sync", kept_back: 10, left_out: 10 });
    expect(shape().left_out_paths).toHaveLength(10);
    expect(shape().left_out_paths).toEqual(expect.arrayContaining(named));
    expect(shape()).not.toHaveProperty("refused");
    // Once they are removed, they are not named any more, and the other side does not change.
    await write(side, Object.fromEntries(Object.keys(MADE).map((name) => [name, undefined])));
    expect(shape()).not.toHaveProperty("kept_back");
    expect([files(rig.desk.tree()), files(await atOrigin())]).toEqual([PLAIN, PLAIN]);
    expect(shape().conflicts).toBe(0);
  });

  it("an editor's file on each side at one path is no conflict, and neither overwrites the other", async () => {
    await started(PLAIN);
    await write("desk", { "a.txt~": "mine" });
    await write("origin", { "a.txt~": "theirs" });
    await write("desk", { "a.txt~": "mine again" });
    await write("origin", { "a.txt~": "theirs again" });
    expect(rig.desk.tree()["a.txt~"]).toBe("mine again");
    expect((await atOrigin())["a.txt~"]).toBe("theirs again");
    expect(shape()).toMatchObject({ conflicts: 0, left_out_paths: [{ path: "a.txt~", side: "both" }] });
    await write("desk", { "a.txt~": undefined });
    expect((await atOrigin())["a.txt~"]).toBe("theirs again");
  });

  it.each(["desk", "origin"])(
    "an editor's file is synced once the file that it belonged to is gone: %s",
    async (side) => {
      await started(PLAIN);
      await write(side, { "a.txt~": "before" });
      await write("desk", { "a.txt": undefined });
      expect(files(rig.desk.tree())).toEqual({ "d/b.txt": "b", "a.txt~": "before" });
      expect(files(await atOrigin())).toEqual({ "d/b.txt": "b", "a.txt~": "before" });
      expect(shape()).not.toHaveProperty("kept_back");
    },
  );

  it.each(["desk", "origin"])(
    "a file that both sides have is still synced, although a file comes beside it: %s",
    async (side) => {
      await started(PLAIN);
      await write("desk", { "notes~": "1" });
      await write("desk", { notes: "new" });
      await write(side, { "notes~": "2" });
      expect(files(await atOrigin())).toEqual({ ...PLAIN, notes: "new", "notes~": "2" });
      expect(files(rig.desk.tree())).toEqual(files(await atOrigin()));
      await write(side, { "notes~": undefined });
      expect(files(await atOrigin())).toEqual({ ...PLAIN, notes: "new" });
      expect(files(rig.desk.tree())).toEqual({ ...PLAIN, notes: "new" });
    },
  );

  it("a file that is renamed to such a name is renamed on the other side", async () => {
    await started(PLAIN);
    rig.desk.disk.rename(`${FOLDER}/a.txt`, `${FOLDER}/a.txt~`);
    rig.desk.hint("a.txt", "a.txt~");
    await rig.flush();
    expect(files(await atOrigin())).toEqual({ "a.txt~": "a", "d/b.txt": "b" });
  });

  it("with editorFiles `sync`, all these files are synced, including those that were left out before", async () => {
    await started({ ...PLAIN, "a.txt~": "theirs" });
    await write("desk", { "#a.txt#": "mine" });
    expect(shape().left_out).toBe(2);
    await rig.during(rig.desk.close());
    rig.desk.settings = { editorFiles: "sync" };
    await rig.during(rig.desk.start());
    await rig.flush();
    const all = { ...PLAIN, "a.txt~": "theirs", "#a.txt#": "mine" };
    expect([files(rig.desk.tree()), files(await atOrigin())]).toEqual([all, all]);
    expect(shape()).not.toHaveProperty("kept_back");
  });

  it("if a filter is taken away, the files that it withheld come, and are not deleted at the origin", async () => {
    const begin = { ...PLAIN, "secret/key": "s", "secret.txt": "t" };
    await started(begin, { record: { filterTo: ["secret*"] } });
    expect(files(rig.desk.tree())).toEqual(PLAIN);
    await rig.during(rig.desk.close());
    rig.desk.settings = { filterTo: [] };
    await rig.during(rig.desk.start());
    await rig.flush();
    expect(files(await atOrigin())).toEqual(begin);
    // Their contents were never sent here: they are asked for once more.
    expect(files(rig.desk.tree())).toEqual(begin);
    expect(await rig.during(rig.desk.sync.conflicts())).toEqual([]);
    await write("origin", { "secret.txt": "changed" });
    expect(rig.desk.tree()).toMatchObject({ "secret.txt": "changed" });
    expect(shape().conflicts).toBe(0);
  });

  it("the deletion of a folder does not delete an editor's file in it at the origin", async () => {
    await started({ ...PLAIN, "d/b.txt~": "theirs" });
    await write("desk", { d: undefined });
    expect(files(await atOrigin())).toMatchObject({ "d/b.txt~": "theirs" });
  });
});
