import { afterEach, describe, expect, it } from "vitest";
import { HOLDS_ALL } from "../../src/core/tree/folder-traits.ts";
import { FolderRig } from "../../src/testing/folder-rig.ts";
import type { WorkspacePath } from "../../src/core/values/path.ts";
import { resolveConflict } from "../../src/engine/undo/conflicts.ts";
import { undo } from "../../src/engine/undo/undo.ts";

/** A folder's state counts as an edit of the origin's state only if the folder has had that state. */

const FIRST = "TOKEN=first\n";
const SECOND = "TOKEN=second\n";
const THIRD = "TOKEN=third\n";

let rig: FolderRig;
afterEach(() => rig?.close());

type Settings = FolderRig["desk"]["settings"];

async function following(begin: Readonly<Record<string, string>>, settings: Settings = {}): Promise<FolderRig> {
  rig = new FolderRig();
  rig.desk.settings = settings;
  await rig.during(rig.host.open());
  for (const [path, content] of Object.entries(begin)) await rig.during(rig.host.write(path, content));
  await rig.during(rig.desk.start());
  await rig.flush();
  return rig;
}

const hostTree = () => rig.during(rig.host.tree());
const WITH: Settings = { withProtected: true };
const WITHOUT = { withProtected: false } as unknown as Settings;

describe("Truth 52: a state that both sides agreed on after the origin's last state had come", () => {
  async function sameEdit(): Promise<FolderRig> {
    const { desk, host } = await following({ ".env": FIRST, "a.txt": "a" }, WITH);
    desk.cut();
    desk.edit(".env", SECOND);
    await rig.pass(2_000);
    await rig.during(host.write(".env", SECOND));
    desk.heal();
    await rig.flush();
    return rig;
  }

  async function becomesNew(): Promise<void> {
    await rig.during(rig.desk.sync.becomeNew("22222222-2222-4222-8222-222222222222"));
    await rig.during(rig.desk.close());
    await rig.during(rig.desk.start());
    await rig.during(rig.desk.sync.resume());
    await rig.flush();
  }

  async function adoptedAnew(): Promise<FolderRig> {
    const { desk } = await following({ ".env": FIRST, "a.txt": "a" }, WITH);
    desk.edit(".env", SECOND);
    await rig.flush();
    await becomesNew();
    return rig;
  }

  const ways = [
    ["both made the same edit", sameEdit],
    ["the replica continues as a new one", adoptedAnew],
  ] as const;

  it.each(ways)("is the base for the origin's next state (%s)", async (_how, begin) => {
    const { desk, host } = await begin();
    await rig.during(host.write(".env", THIRD));
    await rig.flush();
    expect(desk.sync.shape.conflicts).toBe(0);
    expect(desk.tree()[".env"]).toBe(THIRD);
  });

  it.each(ways)("is the base for the folder's edit back to its first state (%s)", async (_how, begin) => {
    const { desk } = await begin();
    desk.cut();
    desk.edit(".env", FIRST);
    await rig.pass(5_000);
    expect(desk.tree()[".env"]).toBe(FIRST);
    desk.heal();
    await rig.flush();
    expect(desk.tree()[".env"]).toBe(FIRST);
    expect((await hostTree())[".env"]).toBe(FIRST);
  });

  it("is the base for an editor's file that the replica sent before it continued as a new one", async () => {
    const { desk } = await following({ "a.txt": "a" }, { editorFiles: "sync" });
    desk.edit("a.txt~", FIRST);
    await rig.flush();
    desk.settings = { editorFiles: "leave" };
    await becomesNew();
    desk.edit("a.txt~", SECOND);
    await rig.flush();
    expect((await hostTree())["a.txt~"]).toBe(SECOND);
    expect(desk.sync.shape).toMatchObject({ conflicts: 0, pending: 0 });
  });

  /** Decisions that the origin does not hear of for a while. */
  const decisions: [string, (desk: FolderRig["desk"]) => Promise<unknown>][] = [
    ["for the folder's side", (desk) => desk.sync.resolve(".env" as WorkspacePath, { keep: "local" })],
    [
      "for merged content",
      (desk) => desk.sync.resolve(".env" as WorkspacePath, { keep: "merge", content: Buffer.from(FIRST + SECOND) }),
    ],
    [
      "for merged content, by resolveConflict",
      (desk) => resolveConflict(desk.context, ".env", { keep: "merged", content: Buffer.from(FIRST + SECOND) }),
    ],
  ];

  it.each(decisions)("is the base after a decision %s, before the origin has it", async (_how, decide) => {
    const { desk } = await following({ ".env": FIRST, "a.txt": "a" }, WITHOUT);
    desk.edit(".env", SECOND);
    await rig.flush();
    await rig.during(desk.close());
    desk.settings = WITH;
    await rig.during(desk.start());
    await rig.flush();
    expect(desk.sync.shape.conflicts).toBe(1);
    desk.cut();
    await rig.during(decide(desk));
    desk.hint(".env");
    await rig.pass(5_000);
    expect(desk.sync.shape.conflicts).toBe(0);
    desk.edit(".env", THIRD);
    await rig.pass(5_000);
    desk.heal();
    await rig.flush();
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
    expect((await hostTree())[".env"]).toBe(THIRD);
  });
});

describe("Truth 52: an edit, made while no sync runs, of a file that the folder never had", () => {
  /** Starts the sync under other settings. Its look at the folder takes longer than the way to the origin. */
  async function startedAgain(settings: Settings): Promise<void> {
    rig.desk.settings = settings;
    rig.desk.lookMs = 2_000;
    await rig.during(rig.desk.start());
    await rig.flush();
  }

  async function isDisputed(path: string, here: string, there: string): Promise<void> {
    expect(rig.desk.tree()[path]).toBe(here);
    expect((await hostTree())[path]).toBe(there);
    expect(rig.desk.sync.shape.conflicts).toBe(1);
  }

  it.each([
    ["of which the folder had an earlier state", true],
    ["of which the folder had no state", false],
  ])("is a conflict: a secret %s", async (_how, isHad) => {
    const { desk, host } = await following({ ".env": FIRST, "a.txt": "a" }, isHad ? WITH : WITHOUT);
    await rig.during(desk.close());
    desk.settings = WITHOUT;
    await rig.during(desk.start());
    await rig.during(host.write(".env", SECOND));
    await rig.during(host.write("b.txt", "b"));
    await rig.flush();
    await rig.during(desk.close());
    desk.edit(".env", THIRD);
    await startedAgain(WITH);
    await isDisputed(".env", THIRD, SECOND);
  });

  it("is a conflict: an editor's file", async () => {
    const { desk, host } = await following({ "a.txt": "a" });
    await rig.during(host.write("a.txt~", "theirs\n"));
    await rig.during(host.write("b.txt", "b"));
    await rig.flush();
    await rig.during(desk.close());
    desk.edit("a.txt~", "ours\n");
    await startedAgain({ editorFiles: "sync" });
    await isDisputed("a.txt~", "ours\n", "theirs\n");
  });

  it("stays in the folder without a conflict: a file that was a secret at the origin when it was recorded", async () => {
    const { desk, host } = await following({ "a.txt": "a" });
    await rig.during(host.workspace.configure({ protectedNames: ["secrets.txt"] }));
    await rig.during(host.write("secrets.txt", FIRST));
    await rig.flush();
    await rig.during(host.workspace.configure({ protectedNames: [] }));
    await rig.during(host.write("b.txt", "b"));
    await rig.flush();
    desk.edit("secrets.txt", SECOND);
    await rig.flush();
    await rig.during(desk.close());
    await rig.during(desk.start());
    await rig.flush();
    expect((await hostTree())["secrets.txt"]).toBe(FIRST);
    expect(desk.tree()["secrets.txt"]).toBe(SECOND);
    expect(desk.sync.shape).toMatchObject({ conflicts: 0, pending: 0 });
  });
});

describe("Truth 52: a folder whose disk can hold links by now", () => {
  const kindsThere = async () => {
    const { files } = await rig.during(rig.host.workspace.files());
    return Object.fromEntries(files.map(({ path, kind }) => [path, kind]));
  };

  /** The origin makes a link, which the folder's disk cannot hold. */
  async function linked(path: string): Promise<FolderRig> {
    const { desk, host } = await following({ "a.txt": "a", "b.txt": "b" });
    desk.context.worktree.traitsOf = () => ({ ...HOLDS_ALL, symlinks: false });
    if (path === "a.txt") await rig.during(host.write(path, undefined));
    await rig.during(host.workspace.putFile(path, Buffer.from("b.txt"), { kind: "symlink" }));
    await rig.flush();
    await rig.during(host.write("c.txt", "c"));
    await rig.flush();
    return rig;
  }

  /** Mounts the disk in another way, and starts the sync again. */
  async function remounted(): Promise<void> {
    await rig.during(rig.desk.close());
    await rig.during(rig.desk.start());
    await rig.flush();
  }

  it("has a conflict about a file that it made at the path of the origin's link", async () => {
    const { desk } = await linked("link");
    desk.edit("link", "mine\n");
    await rig.flush();
    await remounted();
    expect(await kindsThere()).toMatchObject({ link: "symlink" });
    expect(desk.tree()["link"]).toBe("mine\n");
    expect(desk.sync.shape.conflicts).toBe(1);
  });

  it.each(["link", "a.txt"])("gets the link that it could not hold (%s)", async (path) => {
    const { desk } = await linked(path);
    if (path === "link") desk.edit("link", "mine\n");
    await rig.flush();
    if (path === "link") desk.edit("link", undefined);
    await rig.flush();
    expect(Object.keys(desk.tree())).not.toContain(path);
    await remounted();
    expect(await kindsThere()).toMatchObject({ [path]: "symlink" });
    expect(Object.keys(desk.tree())).toContain(path);
    expect(desk.sync.shape.conflicts).toBe(0);
  });
});

describe("Truth 52: a file that was a link at the origin for a while, in a folder whose disk holds no links", () => {
  const WHOSE = [
    ["made", undefined],
    ["edited", FIRST],
    ["got", SECOND],
  ] as const;

  /**
   * The folder has written the file, or has got it from the origin. It loses the file when the origin makes a link of
   * it.
   */
  async function linkedOver(first: string | undefined): Promise<FolderRig> {
    const begin = first === undefined ? {} : { "p.txt": first };
    const { desk, host } = await following({ "a.txt": "a", "b.txt": "b", ...begin });
    if (first !== SECOND) desk.edit("p.txt", SECOND);
    await rig.flush();
    expect((await hostTree())["p.txt"]).toBe(SECOND);
    desk.context.worktree.traitsOf = () => ({ ...HOLDS_ALL, symlinks: false });
    await rig.during(host.workspace.putFile("p.txt", Buffer.from("b.txt"), { kind: "symlink" }));
    await rig.flush();
    expect(desk.tree()).toEqual({ "a.txt": "a", "b.txt": "b" });
    return rig;
  }

  async function fileAgain(content = SECOND): Promise<void> {
    await rig.during(rig.host.workspace.putFile("p.txt", Buffer.from(content), { kind: "file" }));
    await rig.flush();
  }

  async function isThere(content: string): Promise<void> {
    expect((await hostTree())["p.txt"]).toBe(content);
    expect(rig.desk.tree()["p.txt"]).toBe(content);
    expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
  }

  it.each(WHOSE)("comes back once the origin makes it a file again with the same content (%s)", async (_how, first) => {
    await linkedOver(first);
    await fileAgain();
    await isThere(SECOND);
  });

  it.each(WHOSE)("comes back with its new content (%s)", async (_how, first) => {
    await linkedOver(first);
    await fileAgain(THIRD);
    await isThere(THIRD);
  });

  it.each(WHOSE)("comes back also if another file was made and deleted in its place (%s)", async (_how, first) => {
    const { desk } = await linkedOver(first);
    desk.edit("p.txt", "mine\n");
    await rig.flush();
    desk.edit("p.txt", undefined);
    await rig.flush();
    await fileAgain();
    await isThere(SECOND);
  });

  it.each(WHOSE)("is no base for a file that was made in its place, which is a conflict (%s)", async (_how, first) => {
    const { desk } = await linkedOver(first);
    desk.edit("p.txt", "mine\n");
    await rig.flush();
    await fileAgain();
    for (const when of ["at once", "after another step", "after another start"]) {
      expect((await hostTree())["p.txt"], when).toBe(SECOND);
      expect(desk.tree()["p.txt"], when).toBe("mine\n");
      expect(desk.sync.shape.conflicts, when).toBe(1);
      if (when === "after another step") {
        await rig.during(desk.close());
        await rig.during(desk.start());
      } else {
        await rig.during(rig.host.write("c.txt", when));
      }
      await rig.flush();
    }
    await rig.during(desk.sync.resolve("p.txt" as WorkspacePath, { keep: "local" }));
    await rig.flush();
    await isThere("mine\n");
    desk.edit("p.txt", undefined);
    await rig.flush();
    expect(Object.keys(await hostTree())).not.toContain("p.txt");
  });
});

describe("Truth 52: an edit or a deletion of a file while a filter withheld it", () => {
  const LINES = "one\ntwo\nthree\n";
  const HERE = "ONE\ntwo\nthree\n";
  const THERE = "one\ntwo\nTHREE\n";
  const BOTH = "ONE\ntwo\nTHREE\n";

  async function withheld(): Promise<FolderRig> {
    const { desk } = await following({ "x.log": LINES, "y.log": LINES, "a.txt": "a" });
    await rig.during(desk.close());
    desk.settings = { filterTo: ["*.log"] };
    await rig.during(desk.start());
    await rig.during(rig.host.write("y.log", THERE));
    await rig.flush();
    return rig;
  }

  /** Deletes one withheld file in the folder, edits the other, and removes the filter. */
  async function edited(): Promise<void> {
    const { desk } = rig;
    desk.edit("x.log", undefined);
    desk.edit("y.log", HERE);
    await rig.pass(2_000);
    await rig.during(desk.close());
    desk.settings = { filterTo: [] };
  }

  /** The origin never hears of the deletion. Of the edit, it gets only the merge of both sides. */
  async function isBack(when = ""): Promise<void> {
    const { desk, host } = rig;
    await rig.flush();
    expect(await hostTree(), when).toMatchObject({ "x.log": LINES, "y.log": BOTH });
    expect(desk.tree(), when).toMatchObject({ "x.log": LINES, "y.log": BOTH });
    expect(await rig.during(host.workspace.history("x.log")), when).toHaveLength(1);
    expect(await rig.during(host.workspace.history("y.log")), when).toHaveLength(3);
    expect(desk.sync.shape, when).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
  }

  it("is not sent as a deletion once the filter is gone, also if the process ends before the origin has answered", async () => {
    const { desk } = await withheld();
    desk.cut();
    desk.edit("a.txt", "b");
    await edited();
    await rig.during(desk.start());
    await rig.pass(5_000);
    expect(desk.tree()["x.log"]).toBe(LINES);
    await rig.during(desk.close());
    desk.settings = {};
    await rig.during(desk.start());
    desk.heal();
    await isBack();
    expect((await hostTree())["a.txt"]).toBe("b");
  });

  it("is not sent as a deletion if the power fails during or soon after the first step without the filter", async () => {
    let isThrough = false;
    for (let at = 0; !isThrough; at += 3) {
      const { desk } = await withheld();
      await rig.during(desk.close());
      desk.edit("x.log", undefined);
      desk.edit("y.log", HERE);
      desk.settings = { filterTo: [] };
      let writes = 0;
      desk.machine.plan(({ reads }) => (!reads && (writes += 1) > at ? "stop-after" : "go"));
      await rig.during(desk.start().catch(() => undefined));
      await rig.pass(500);
      isThrough = !desk.disk.stopped;
      desk.cut();
      await rig.during(desk.close().catch(() => undefined));
      desk.machine.losePower("keep");
      desk.heal();
      await rig.during(desk.start());
      await isBack(`power cut after write ${at}`);
      await rig.close();
    }
  });

  it("an edit is not sent if somebody has decided for the origin's side meanwhile, and the process ends", async () => {
    const { desk, host } = await following({ "x.txt": FIRST, "a.txt": "a" });
    desk.cut();
    desk.edit("x.txt", SECOND);
    await rig.pass(2_000);
    await rig.during(host.write("x.txt", THIRD));
    desk.heal();
    await rig.flush();
    expect(desk.sync.shape.conflicts).toBe(1);
    desk.cut();
    desk.edit("a.txt", "b");
    await rig.pass(2_000);
    const { id } = await rig.during(desk.sync.resolve("x.txt" as WorkspacePath, { keep: "local" }));
    await rig.pass(2_000);
    await rig.during(undo(desk.context));
    await rig.pass(2_000);
    expect((await rig.during(desk.sync.conflicts())).map((one) => one.id)).toEqual([id]);
    await rig.during(desk.sync.resolve("x.txt" as WorkspacePath, { keep: "upstream" }));
    await rig.pass(2_000);
    expect(desk.tree()["x.txt"]).toBe(THIRD);
    await rig.during(desk.close());
    await rig.during(desk.start());
    desk.heal();
    await rig.flush();
    expect(await hostTree()).toEqual({ "x.txt": THIRD, "a.txt": "b" });
    expect(await rig.during(host.workspace.history("x.txt"))).toHaveLength(2);
    expect(desk.tree()["x.txt"]).toBe(THIRD);
  });
});
