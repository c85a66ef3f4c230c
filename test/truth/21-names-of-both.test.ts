import { afterEach, describe, expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";
import { agentView } from "../../src/engine/actions/agent-view.ts";
import { configure } from "../../src/engine/commit/config.ts";
import { protectedFiles } from "../../src/engine/state/protected.ts";
import { keepToBudget } from "../../src/engine/upkeep/private-budget.ts";
import { openQueue } from "../../src/engine/undo/open-queue.ts";
import { Workspace } from "../../src/engine/workspace.ts";

/** Names of secrets that a person has added at one side of a sync count at both. */

const SECRET = "TOKEN=s3cr3t-of-this-test\n";
const LATER = "TOKEN=s3cr3t-of-this-test-later\n";

let rig: FolderRig;
afterEach(() => rig?.close());

interface Given {
  /** The origin's files, and names that a person has added there, and at the desk. */
  readonly files?: Readonly<Record<string, string>>;
  readonly there?: readonly string[];
  readonly here?: readonly string[];
  readonly isWith?: boolean;
}

async function following({ files = {}, there = [], here = [], isWith = false }: Given): Promise<FolderRig> {
  rig = new FolderRig();
  if (isWith) rig.desk.settings = { withProtected: true };
  await rig.during(rig.host.open());
  if (there.length > 0) await namedThere(...there);
  for (const [path, content] of Object.entries(files)) await rig.during(rig.host.write(path, content));
  await rig.during(rig.desk.start());
  if (here.length > 0) await namedHere(...here);
  await rig.flush();
  return rig;
}

const namedThere = (...names: string[]) => rig.during(rig.host.workspace.configure({ protectedNames: names }));
const namedHere = (...names: string[]) => rig.during(configure(rig.desk.context, { protectedNames: names }));
const hostTree = () => rig.during(rig.host.tree());
const IN_SYNC = { state: "in-sync", conflicts: 0, pending: 0 };

describe("Truth 21: names that a person has added at the origin", () => {
  it("keep the origin's file there, and the desk's here, with nothing blocked", async () => {
    const { desk, host } = await following({ files: { "mine.txt": SECRET, "a.txt": "a" }, there: ["mine.txt"] });
    expect(desk.tree()).toEqual({ "a.txt": "a" });
    expect(desk.sync.shape).toMatchObject(IN_SYNC);
    desk.edit("mine.txt", "of the desk");
    desk.edit("b.txt", "b");
    await rig.flush();
    await rig.during(host.write("mine.txt", LATER));
    await rig.flush();
    expect(desk.tree()).toEqual({ "a.txt": "a", "b.txt": "b", "mine.txt": "of the desk" });
    expect(await hostTree()).toEqual({ "a.txt": "a", "b.txt": "b", "mine.txt": LATER });
    expect(desk.sync.shape).toMatchObject(IN_SYNC);
  });

  it("keep later states of a file that both sides have on their sides, and delete nothing", async () => {
    const { desk, host } = await following({ files: { "mine.txt": SECRET, "a.txt": "a" } });
    expect(desk.tree()).toEqual({ "a.txt": "a", "mine.txt": SECRET });
    await namedThere("mine.txt");
    await rig.flush();
    desk.edit("mine.txt", "of the desk");
    await rig.flush();
    await rig.during(host.write("mine.txt", undefined));
    await rig.flush();
    expect(desk.tree()).toEqual({ "a.txt": "a", "mine.txt": "of the desk" });
    expect(await hostTree()).toEqual({ "a.txt": "a" });
    expect(desk.sync.shape).toMatchObject(IN_SYNC);
  });

  it("let the file come once they are no secrets any more", async () => {
    const { desk } = await following({ files: { "mine.txt": SECRET, "a.txt": "a" }, there: ["mine.txt"] });
    expect(desk.tree()).toEqual({ "a.txt": "a" });
    await namedThere("!mine.txt");
    await rig.flush();
    expect(desk.tree()).toEqual({ "a.txt": "a", "mine.txt": SECRET });
    expect(desk.sync.shape).toMatchObject(IN_SYNC);
  });

  it("that are taken away still count for states recorded before, and not for later ones", async () => {
    const { desk, host } = await following({ files: { "mine.txt": SECRET, "a.txt": "a" }, there: ["mine.txt"] });
    await namedThere();
    desk.edit("mine.txt", "of the desk");
    await rig.flush();
    expect(desk.tree()).toEqual({ "a.txt": "a", "mine.txt": "of the desk" });
    expect(await hostTree()).toEqual({ "a.txt": "a", "mine.txt": SECRET });
    expect(desk.sync.shape).toMatchObject(IN_SYNC);
    desk.edit("mine.txt", undefined);
    await rig.during(host.write("mine.txt", LATER));
    await rig.flush();
    expect(desk.tree()).toEqual({ "a.txt": "a", "mine.txt": LATER });
  });

  it("make the desk's file a secret here, too, even if secrets are sent, and after the sync has ended", async () => {
    const { desk } = await following({ files: { "mine.txt": SECRET }, there: ["mine.txt"], isWith: true });
    expect(desk.tree()).toEqual({ "mine.txt": SECRET });
    expect(await rig.during(protectedFiles(desk.context))).toEqual({ files: 1, first: ["mine.txt"] });
    desk.edit("mine.txt", LATER);
    await rig.flush();
    expect(await hostTree()).toEqual({ "mine.txt": LATER });
    await rig.during(desk.sync.stop());
    expect(await rig.during(protectedFiles(desk.context))).toEqual({ files: 1, first: ["mine.txt"] });
  });

  it("cannot make a secret of the built-in table an ordinary file here", async () => {
    const { desk, host } = await following({ files: { ".env": SECRET, "a.txt": "a" }, there: ["!.env"] });
    desk.edit(".env", LATER);
    await rig.flush();
    expect(desk.tree()).toEqual({ ".env": LATER, "a.txt": "a" });
    expect((await rig.during(host.tree()))[".env"]).toBe(SECRET);
    expect(desk.sync.shape).toMatchObject(IN_SYNC);
    await namedHere("!.env");
    await rig.flush();
    expect(desk.sync.shape.conflicts).toBe(1);
  });
});

describe("Truth 21: names that a person has added at the replica", () => {
  it("keep the desk's file here, and the origin's there", async () => {
    const { desk, host } = await following({ files: { "a.txt": "a" }, here: ["mine.txt"] });
    desk.edit("mine.txt", SECRET);
    desk.edit("b.txt", "b");
    await rig.flush();
    expect(await hostTree()).toEqual({ "a.txt": "a", "b.txt": "b" });
    await rig.during(host.write("mine.txt", "of the origin"));
    await rig.flush();
    expect(desk.tree()).toEqual({ "a.txt": "a", "b.txt": "b", "mine.txt": SECRET });
    expect(await hostTree()).toEqual({ "a.txt": "a", "b.txt": "b", "mine.txt": "of the origin" });
    expect(desk.sync.shape).toMatchObject(IN_SYNC);
  });

  it("hold back a file that was written before they were added, and has not been sent", async () => {
    const { desk } = await following({ files: { "a.txt": "a" } });
    desk.cut();
    desk.edit("mine.txt", SECRET);
    desk.edit("b.txt", "b");
    await rig.pass(2_000);
    await namedHere("mine.txt");
    await rig.pass(2_000);
    desk.heal();
    await rig.flush();
    expect(await hostTree()).toEqual({ "a.txt": "a", "b.txt": "b" });
    expect(desk.sync.shape).toMatchObject(IN_SYNC);
    await namedHere();
    await rig.flush();
    expect(await hostTree()).toEqual({ "a.txt": "a", "b.txt": "b", "mine.txt": SECRET });
  });
});

describe("Truth 21: names that only the replica's person has added, while secrets are synced both ways", () => {
  it("keep a new file here, and the origin's file there", async () => {
    const files = { "plain.cfg": "one\n", "a.txt": "a" };
    const { desk } = await following({ files, here: ["token.cfg", "plain.cfg"], isWith: true });
    desk.edit("token.cfg", SECRET);
    desk.edit("plain.cfg", LATER);
    desk.edit(".env", "X=1\n");
    await rig.flush();
    expect(await hostTree()).toEqual({ ...files, ".env": "X=1\n" });
    expect(desk.tree()).toMatchObject({ "token.cfg": SECRET, "plain.cfg": LATER });
    expect(desk.sync.shape).toMatchObject(IN_SYNC);
  });

  it("let the file go once the origin's person adds them, too", async () => {
    const { desk } = await following({ files: { "a.txt": "a" }, here: ["token.cfg"], isWith: true });
    desk.edit("token.cfg", SECRET);
    await rig.flush();
    await namedThere("token.cfg");
    await rig.flush();
    expect(await hostTree()).toEqual({ "a.txt": "a", "token.cfg": SECRET });
    expect(await rig.during(protectedFiles(desk.context))).toMatchObject({ files: 1 });
  });
});

describe("Truth 21: an agent at a replica", () => {
  it("cannot give a secret of the origin's person an ordinary name", async () => {
    const { desk } = await following({ files: { "k.txt": SECRET, "a.txt": "a" } });
    await namedThere("k.txt");
    await rig.flush();
    const context = { ...desk.context, caller: { ...desk.context.caller, role: "agent" } } as const;
    const agent = agentView(
      new Workspace(
        context,
        openQueue(context, keepToBudget, async () => undefined),
      ),
      context,
    );
    await expect(rig.during(agent.moveFile("k.txt", "k3.txt", {}))).rejects.toMatchObject({ code: "FORBIDDEN" });
    await rig.during(agent.moveFile("a.txt", "b.txt", {}));
    await rig.flush();
    expect(desk.tree()).toEqual({ "b.txt": "a", "k.txt": SECRET });
  });
});
