import { afterEach, describe, expect, it } from "vitest";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { ReconcileMode } from "../../../core/tree/reconcile.ts";
import type { WorkspacePath } from "../../../core/values/path.ts";
import { FolderRig, removeSim, writeSim, type FolderRigOptions } from "../../../testing/folder-rig.ts";
import { FOLDER } from "../../../testing/sync-machine.ts";
import { historyOf } from "../../../engine/read/history.ts";

let rig: FolderRig;

/** Returns the rig of a folder that follows an origin with these files, and that has fetched them. */
async function started(begin: Readonly<Record<string, string>> = {}, more?: FolderRigOptions): Promise<FolderRig> {
  rig = await FolderRig.start(begin, more);
  await rig.flush();
  return rig;
}

afterEach(() => rig.close());

const path = (text: string): WorkspacePath => text as WorkspacePath;

async function trees(): Promise<{ desk: Record<string, string>; host: Record<string, string> }> {
  return { desk: rig.desk.tree(), host: await rig.during(rig.host.tree()) };
}

/** Counts the origin's iterations of a path. */
async function iterations(of: string): Promise<number> {
  return (await rig.during(rig.host.workspace.history(of))).length;
}

describe("a folder that follows an origin", () => {
  it("gets the origin's files and its later changes", async () => {
    const { host, desk } = await started({ a: "1", "d/b": "2" });
    expect(desk.tree()).toEqual({ a: "1", "d/": "", "d/b": "2" });
    await rig.during(host.write("d/c", "3"));
    await rig.during(host.write("a", undefined));
    await rig.flush();
    expect(desk.tree()).toEqual({ "d/": "", "d/b": "2", "d/c": "3" });
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", lag: 0, pending: 0, conflicts: 0 });
    const [row] = await rig.during(desk.hold.context.index.iterations(path("d/c")));
    expect(row).toMatchObject({ iteration: 1 });
  });

  it("writes back its edits, creations and deletions, each once, with the actor", async () => {
    const { host, desk } = await started({ a: "1", "d/b": "2" });
    desk.edit("a", "one");
    desk.edit("d/b", undefined);
    desk.edit("new/c", "3");
    await rig.flush();
    expect((await trees()).host).toEqual({ a: "one", "d/": "", "new/": "", "new/c": "3" });
    const history = await rig.during(host.workspace.history("a"));
    expect(history.map(({ cause, actor }) => [cause, actor])).toEqual([
      ["write", "human"],
      ["replica", "human"],
    ]);
    await rig.pass(3_000);
    expect(await iterations("a")).toBe(2);
  });

  it("lists the origin's actor and time of iterations that came from the origin, and none of its own ones", async () => {
    const { host, desk } = await started({ a: "1" });
    await rig.during(host.workspace.putFile("a", Buffer.from("2"), { actor: "ada" }));
    const [, second] = await rig.during(host.workspace.history("a"));
    await rig.flush();
    desk.edit("a", "mine");
    await rig.flush();
    const here = await rig.during(historyOf(desk.hold.context, "a"));
    expect(here.map(({ cause, upstream }) => [cause, upstream?.iteration, upstream?.actor])).toEqual([
      ["replica", 1, "human"],
      ["replica", 2, "ada"],
      ["capture", undefined, undefined],
    ]);
    expect(here[1]?.upstream).toEqual({ seq: second?.seq, iteration: 2, timestamp: second?.timestamp, actor: "ada" });
    const there = await rig.during(host.workspace.history("a"));
    expect(there.map(({ replica }) => replica?.id)).toEqual([undefined, undefined, desk.hold.context.workspaceId]);
  });

  it("is not reported as offline while it is paused, resumed or stopped", async () => {
    const { desk } = await started({ a: "1" });
    const states: string[] = [];
    desk.sync.happened.listen(({ kind }) => void (kind === "state" && states.push(desk.sync.shape.state)));
    await rig.during(desk.sync.pause());
    await rig.during(desk.sync.resume());
    await rig.flush();
    await rig.during(desk.sync.stop());
    expect([...new Set(states)].toSorted()).toEqual(["connecting", "in-sync", "paused", "stopped"]);
  });

  it("joins with files of its own: files of one side go to the other, and differing files are a conflict", async () => {
    await started(
      { both: "1", differs: "theirs", theirs: "t" },
      { desk: { both: "1", differs: "mine", "my/own": "m" } },
    );
    const { desk, host } = await trees();
    expect(desk).toEqual({ both: "1", differs: "mine", theirs: "t", "my/": "", "my/own": "m" });
    expect(host).toEqual({ both: "1", differs: "theirs", theirs: "t", "my/": "", "my/own": "m" });
    const conflicts = await rig.during(rig.desk.sync.conflicts());
    expect(conflicts.map(({ record }) => [record.path, record.reason])).toEqual([["differs", "created"]]);
    expect(await iterations("both")).toBe(1);
  });

  it("continues after a restart with the edits that both sides made meanwhile", async () => {
    const { host, desk } = await started({ a: "1", b: "1" });
    await rig.during(desk.close());
    writeSim(desk.disk, `${FOLDER}/a`, "edited while nobody looked");
    await rig.during(host.write("b", "2"));
    await rig.during(desk.start());
    await rig.flush();
    const { desk: here, host: there } = await trees();
    expect(here).toEqual({ a: "edited while nobody looked", b: "2" });
    expect(there).toEqual(here);
    expect(await iterations("a")).toBe(2);
  });

  it("can be edited while the network is cut, and becomes equal to the origin when the network heals", async () => {
    const { host, desk } = await started({ a: "1", b: "1", "text.md": "1\n2\n3\n" });
    desk.cut();
    await rig.until(() => desk.sync.shape.state === "offline");
    desk.edit("a", "2");
    desk.edit("text.md", "one\n2\n3\n");
    await rig.during(host.write("b", "2"));
    await rig.during(host.write("text.md", "1\n2\nthree\n"));
    await rig.pass(5_000);
    expect(desk.sync.shape).toMatchObject({ state: "offline", pending: 2 });
    desk.heal();
    await rig.flush();
    const { desk: here, host: there } = await trees();
    expect(here).toEqual({ a: "2", b: "2", "text.md": "one\n2\nthree\n" });
    expect(there).toEqual(here);
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0 });
  });

  it("does not sync while it is paused, also after a restart, and cannot be resumed once it is stopped", async () => {
    const { host, desk } = await started({ a: "1" });
    await rig.during(desk.sync.pause());
    await rig.during(host.write("a", "2"));
    desk.edit("b", "b");
    await rig.during(desk.close());
    await rig.during(desk.start());
    await rig.pass(5_000);
    expect([desk.tree(), desk.sync.shape.state]).toEqual([{ a: "1", b: "b" }, "paused"]);
    await expect(rig.during(desk.sync.flush())).rejects.toMatchObject({ code: "REFUSED" });
    await rig.during(desk.sync.resume());
    await rig.flush();
    expect((await trees()).host).toEqual({ a: "2", b: "b" });
    await rig.during(desk.sync.stop());
    expect(desk.sync.shape.state).toBe("stopped");
    await expect(rig.during(desk.sync.resume())).rejects.toMatchObject({ code: "REFUSED" });
  });
});

describe("P10: both sides change the same", () => {
  const edits: Readonly<Record<string, [desk: string | undefined, host: string | undefined]>> = {
    "edit and edit": ["mine", "theirs"],
    "deletion and edit": [undefined, "theirs"],
    "edit and deletion": ["mine", undefined],
  };

  async function both(mode: ReconcileMode, [mine, theirs]: [string | undefined, string | undefined]): Promise<void> {
    const { host, desk } = await started({ f: "0" }, { record: { mode } });
    desk.cut();
    desk.edit("f", mine);
    await rig.during(host.write("f", theirs));
    await rig.pass(1_000);
    desk.heal();
    await rig.flush();
  }

  it.each<[ReconcileMode, string, string | undefined, string | undefined]>([
    ["two-way-safe", "edit and edit", "mine", "theirs"],
    ["two-way-safe", "deletion and edit", "theirs", "theirs"],
    ["two-way-safe", "edit and deletion", "mine", "mine"],
    ["two-way-resolved", "edit and edit", "theirs", "theirs"],
    ["two-way-resolved", "deletion and edit", "theirs", "theirs"],
    ["two-way-resolved", "edit and deletion", undefined, undefined],
    ["one-way-safe", "edit and edit", "mine", "theirs"],
    ["one-way-safe", "deletion and edit", "theirs", "theirs"],
    ["one-way-safe", "edit and deletion", "mine", undefined],
    ["one-way-replica", "edit and edit", "theirs", "theirs"],
    ["one-way-replica", "deletion and edit", "theirs", "theirs"],
    ["one-way-replica", "edit and deletion", undefined, undefined],
  ])("%s, %s", async (mode, what, mine, theirs) => {
    await both(mode, edits[what] ?? [undefined, undefined]);
    const { desk, host } = await trees();
    expect([desk["f"], host["f"]]).toEqual([mine, theirs]);
    const isConflict = what === "edit and edit" && mode.endsWith("safe");
    expect(rig.desk.sync.shape.conflicts).toBe(isConflict ? 1 : 0);
    // The folder's own history has the folder's edit, even if the origin's edit has won.
    const own = await rig.during(rig.desk.hold.context.index.iterations(path("f")));
    const sizes = own.map(({ entry }) => entry?.size);
    expect(sizes).toContain(edits[what]?.[0]?.length);
  });

  it.each([
    ["local", "mine"],
    ["upstream", "theirs"],
  ] as const)("a conflict is settled by keeping the %s side", async (keep, kept) => {
    await both("two-way-safe", ["mine", "theirs"]);
    await rig.during(rig.desk.sync.resolve(path("f"), { keep }));
    await rig.flush();
    expect(await trees()).toEqual({ desk: { f: kept }, host: { f: kept } });
    expect(rig.desk.sync.shape).toMatchObject({ conflicts: 0, state: "in-sync" });
    const hashes = (await rig.during(rig.host.workspace.history("f"))).map(({ size }) => size);
    expect(hashes).toEqual(keep === "local" ? [1, 6, 4] : [1, 6]);
  });

  it("a conflict is settled by a given merged content, and is not merged automatically if the texts contradict", async () => {
    await both("two-way-safe", ["mine", "theirs"]);
    const { sync } = rig.desk;
    await expect(rig.during(sync.resolve(path("f"), { keep: "merge" }))).rejects.toMatchObject({ code: "REFUSED" });
    await expect(rig.during(sync.resolve(path("g"), { keep: "local" }))).rejects.toMatchObject({ code: "NOT_FOUND" });
    await rig.during(sync.resolve(path("f"), { keep: "merge", content: Buffer.from("ours") }));
    await rig.flush();
    expect(await trees()).toEqual({ desk: { f: "ours" }, host: { f: "ours" } });
    expect(sync.shape.conflicts).toBe(0);
    expect(rig.desk.happened.filter(({ kind }) => kind === "pushed")).toContainEqual({
      kind: "pushed",
      accepted: 1,
      rejected: 0,
    });
  });

  it("in one-way-safe, only keeping the origin's side settles a conflict", async () => {
    await both("one-way-safe", ["mine", "theirs"]);
    await expect(rig.during(rig.desk.sync.resolve(path("f"), { keep: "local" }))).rejects.toMatchObject({
      code: "REFUSED",
    });
    await rig.during(rig.desk.sync.resolve(path("f"), { keep: "upstream" }));
    await rig.flush();
    expect(await trees()).toEqual({ desk: { f: "theirs" }, host: { f: "theirs" } });
    expect(rig.desk.sync.shape.conflicts).toBe(0);
  });

  it("a folder here and a file there both stay, and keeping the folder sends all that is in it", async () => {
    const { host, desk } = await started({ "d/f": "1" });
    desk.cut();
    desk.edit("d/f", "changed");
    desk.edit("d/own", "2");
    await rig.during(host.write("d", undefined));
    await rig.during(host.write("d", "a file"));
    await rig.pass(500);
    desk.heal();
    await rig.flush();
    expect(await trees()).toEqual({ desk: { "d/": "", "d/f": "changed", "d/own": "2" }, host: { d: "a file" } });
    await rig.during(desk.sync.resolve(path("d"), { keep: "local" }));
    await rig.flush();
    expect((await trees()).host).toEqual({ "d/": "", "d/f": "changed", "d/own": "2" });
    expect(desk.sync.shape.conflicts).toBe(0);
  });

  it("a file that is moved here and edited there keeps the edit under its old name", async () => {
    const { host, desk } = await started({ old: "1\n" });
    desk.cut();
    desk.disk.rename(`${FOLDER}/old`, `${FOLDER}/new`);
    desk.hint("old", "new");
    await rig.during(host.write("old", "2\n"));
    await rig.pass(500);
    desk.heal();
    await rig.flush();
    expect(await trees()).toEqual({ desk: { old: "2\n", new: "1\n" }, host: { old: "2\n", new: "1\n" } });
  });

  it("a conflict ends by itself when both sides are equal", async () => {
    await both("two-way-safe", ["mine", "theirs"]);
    rig.desk.edit("f", "theirs");
    await rig.flush();
    expect(rig.desk.sync.shape.conflicts).toBe(0);
    expect(await iterations("f")).toBe(2);
  });
});

describe("P11: much is gone at once", () => {
  const MANY = Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`d/f${i}`, `content ${i}`]));

  it("a folder that is missing halts the sync, and nothing counts as deleted", async () => {
    const { desk, host } = await started({ a: "1" });
    desk.disk.rename(FOLDER, "/home/away");
    desk.hint("a");
    await rig.until(() => desk.sync.shape.state === "halted");
    await rig.during(host.write("b", "2"));
    await rig.pass(5_000);
    expect(desk.sync.shape).toMatchObject({ state: "halted", reason: "the folder is not there" });
    await expect(rig.during(desk.sync.resume())).rejects.toMatchObject({ code: "REFUSED" });
    desk.disk.rename("/home/away", FOLDER);
    await rig.during(desk.sync.resume());
    await rig.flush();
    expect(await trees()).toEqual({ desk: { a: "1", b: "2" }, host: { a: "1", b: "2" } });
  });

  it("a folder that was replaced with an empty one while the sync did not run halts the sync", async () => {
    const { desk, host } = await started({ a: "1", b: "2" });
    await rig.during(desk.close());
    desk.disk.rename(FOLDER, "/home/away");
    desk.disk.makeFolder(FOLDER, 0o755);
    await rig.during(desk.start());
    await rig.until(() => desk.sync.shape.state === "halted");
    await expect(rig.during(desk.sync.resume())).rejects.toMatchObject({ code: "REFUSED" });
    expect(await rig.during(host.tree())).toEqual({ a: "1", b: "2" });
    await rig.during(desk.sync.resume({ accept: "restore" }));
    await rig.flush();
    expect(await trees()).toEqual({ desk: { a: "1", b: "2" }, host: { a: "1", b: "2" } });
    expect(await iterations("a")).toBe(1);
  });

  it("a deletion of most files is not sent until a person decides; after a restore, other edits are sent", async () => {
    const { desk, host } = await started({ ...MANY, keep: "k" });
    writeSim(desk.disk, `${FOLDER}/keep`, "edited");
    removeSim(desk.disk, `${FOLDER}/d`);
    desk.hint("d", "keep");
    await rig.until(() => desk.sync.shape.state === "halted");
    expect(desk.sync.shape.reason).toMatch(/121 of 122 entries were deleted here/);
    await rig.pass(5_000);
    expect(Object.keys(await rig.during(host.tree()))).toHaveLength(122);
    await rig.during(desk.sync.resume({ accept: "restore" }));
    await rig.flush();
    expect(await trees()).toEqual({
      desk: { ...MANY, "d/": "", keep: "edited" },
      host: { ...MANY, "d/": "", keep: "edited" },
    });
  });

  it("files that are back on the disk need no decision, and the origin gets no event of them", async () => {
    const { desk, host } = await started({ ...MANY, keep: "k" });
    const before = (await rig.during(host.workspace.status())).seq;
    const gone = ["d/f1", "d/f2", "d/f3", "d/f4"];
    removeSim(desk.disk, `${FOLDER}/d`);
    desk.hint("d");
    await rig.until(() => desk.sync.shape.state === "halted");
    desk.disk.makeFolder(`${FOLDER}/d`, 0o755);
    for (const name of gone) writeSim(desk.disk, `${FOLDER}/${name}`, MANY[name] ?? "");
    await expect(rig.during(desk.sync.resume())).rejects.toMatchObject({
      code: "REFUSED",
      message: expect.stringMatching(/halted: 116 of 122 entries were deleted here/) as string,
      hint: expect.stringContaining("--restore-files; if they are back, just resume") as string,
    });
    expect(desk.sync.shape.state).toBe("halted");
    for (const [name, text] of Object.entries(MANY)) writeSim(desk.disk, `${FOLDER}/${name}`, text);
    writeSim(desk.disk, `${FOLDER}/keep`, "edited");
    await rig.during(desk.sync.resume());
    await rig.flush();
    const all = { ...MANY, "d/": "", keep: "edited" };
    expect(await trees()).toEqual({ desk: all, host: all });
    expect(await iterations("d/f7")).toBe(1);
    expect((await rig.during(host.workspace.status())).seq).toBeLessThanOrEqual(before + 2);
  });

  it("a deletion of most files is sent to the origin once a person accepts it", async () => {
    const { desk } = await started({ ...MANY, keep: "k" });
    removeSim(desk.disk, `${FOLDER}/d`);
    desk.hint("d");
    await rig.until(() => desk.sync.shape.state === "halted");
    await rig.during(desk.sync.resume({ accept: "deletions" }));
    await rig.flush();
    expect(await trees()).toEqual({ desk: { keep: "k" }, host: { keep: "k" } });
  });

  it("a large deletion that is seen in pieces halts the sync before half of the files are deleted at the origin", async () => {
    const { desk, host } = await started({ ...MANY, keep: "k" });
    const names = desk.disk.list(`${FOLDER}/d`).map(({ name }) => name.toString());
    for (let i = 0; i < names.length; i += 20) {
      const some = names.slice(i, i + 20);
      for (const name of some) desk.disk.unlink(`${FOLDER}/d/${name}`);
      desk.hint(...some.map((name) => `d/${name}`));
      await rig.pass(150);
    }
    await rig.until(() => desk.sync.shape.state === "halted");
    expect(Object.keys(await rig.during(host.tree())).length).toBeGreaterThan(60);
  });

  it("a move of a large folder does not count as a deletion", async () => {
    const { desk, host } = await started(MANY);
    desk.disk.rename(`${FOLDER}/d`, `${FOLDER}/e`);
    desk.hint("d", "e");
    await rig.flush();
    expect(Object.keys(await rig.during(host.tree()))).toContain("e/f7");
    expect(desk.sync.shape.state).toBe("in-sync");
  });

  it.each(["restore", "deletions"] as const)(
    "a large deletion at the origin halts the sync until a person decides: %s",
    async (accept) => {
      const { desk, host } = await started({ ...MANY, keep: "k" });
      await rig.during(desk.close());
      await rig.during(host.write("d", undefined));
      await rig.during(desk.start());
      await rig.until(() => desk.sync.shape.state === "halted");
      expect(desk.sync.shape.reason).toMatch(/1\d\d of 122 entries were deleted at the origin/);
      // Entries that were deleted before the deletion was known to be large are gone from the folder, but are in its
      // history.
      expect(Object.keys(desk.tree()).length).toBeGreaterThan(70);
      await rig.during(desk.sync.resume({ accept }));
      await rig.flush();
      const { desk: here, host: there } = await trees();
      if (accept === "restore") expect(Object.keys(here).length).toBeGreaterThan(70);
      else expect(here).toEqual({ keep: "k" });
      expect(there).toEqual(here);
    },
  );
});

describe("P13, P14: echoes and editors", () => {
  it("P13: an edit right after a change from the origin is written back", async () => {
    const { host, desk } = await started({ f: "0" });
    for (let i = 1; i <= 5; i += 1) {
      await rig.during(host.write("f", `origin ${i}`));
      await rig.until(() => desk.tree()["f"] === `origin ${i}`);
      // Edit in the very moment in which the watcher reports the sync's own write.
      desk.edit("f", `mine ${i}`);
      await rig.flush();
      expect((await trees()).host).toEqual({ f: `mine ${i}` });
    }
    expect(await iterations("f")).toBe(11);
    expect(desk.sync.shape.conflicts).toBe(0);
  });

  it("P13: a change that the sync wrote is not written back, however often its path is hinted at", async () => {
    const { host, desk } = await started({ f: "0" });
    await rig.during(host.write("f", "1"));
    await rig.flush();
    for (let i = 0; i < 5; i += 1) {
      desk.hint("f", "");
      await rig.pass(200);
    }
    expect(await iterations("f")).toBe(2);
    expect(desk.happened.some(({ kind }) => kind === "pushed")).toBe(false);
  });

  it("P14: a file that is written in pieces is sent once, as a whole, when it is quiet", async () => {
    const { desk } = await started({ f: "0" });
    for (let i = 1; i <= 10; i += 1) {
      desk.edit("f", "x".repeat(i * 1_000));
      await rig.pass(30);
    }
    await rig.flush();
    expect((await trees()).host["f"]).toHaveLength(10_000);
    expect(await iterations("f")).toBe(2);
  });

  it("P14: saving by a temporary file and a rename, with swap files and backups, is one edit of one file", async () => {
    const { desk } = await started({ "f.txt": "0" });
    writeSim(desk.disk, `${FOLDER}/.f.txt.swp`, "swap");
    desk.hint(".f.txt.swp");
    await rig.pass(100);
    desk.disk.rename(`${FOLDER}/f.txt`, `${FOLDER}/f.txt~`);
    desk.hint("f.txt", "f.txt~");
    await rig.pass(10);
    desk.edit("f.txt", "1");
    await rig.flush();
    expect((await trees()).host).toEqual({ "f.txt": "1" });
    expect(await iterations("f.txt")).toBe(2);
    expect(desk.tree()).toMatchObject({ "f.txt": "1", "f.txt~": "0", ".f.txt.swp": "swap" });
  });
});

describe("what does not go smoothly", () => {
  it("a folder that holds an untracked file is a conflict, and is removed once the file is gone", async () => {
    const { host, desk } = await started({ ".gitignore": "*.o\n", "d/f": "2", k: "1" });
    desk.edit("d/x.o", "untracked");
    await rig.flush();
    await rig.during(host.write("d", undefined));
    await rig.flush();
    expect(desk.tree()).toEqual({ ".gitignore": "*.o\n", "d/": "", "d/x.o": "untracked", k: "1" });
    expect(desk.happened.filter(({ kind }) => kind === "conflict")).toEqual([
      { kind: "conflict", path: "d", state: "open" },
    ]);
    const [held] = await rig.during(desk.sync.conflicts());
    expect(held?.record).toMatchObject({ path: "d", reason: "blocked", sync: { detail: 'not-empty: it holds "x.o"' } });
    desk.edit("d/x.o", undefined);
    await rig.flush();
    expect([desk.tree(), desk.sync.shape.conflicts]).toEqual([{ ".gitignore": "*.o\n", k: "1" }, 0]);
  });

  it("P12: a change that the watcher misses is found by a scan, and the sync is reported as degraded", async () => {
    const { desk } = await started({ a: "1" });
    desk.isBlind = true;
    writeSim(desk.disk, `${FOLDER}/a`, "2");
    await rig.pass(5_000);
    expect((await trees()).host).toEqual({ a: "1" });
    desk.hintEverywhere();
    await rig.until(() => desk.sync.shape.pending === 0 && desk.sync.shape.applied > 5);
    await rig.pass(1_000);
    expect((await trees()).host).toEqual({ a: "2" });
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", degraded: expect.stringContaining("scanned") as string });
    expect(desk.happened).toContainEqual({ kind: "degraded", reason: expect.stringContaining("scanned") as string });
  });

  it("names that the folder's disk takes for one are a conflict, and the second name is not written", async () => {
    const { host, desk } = await started({ readme: "1" }, { parts: { nameRules: { caseInsensitive: true } } });
    await rig.during(host.write("README", "2"));
    await rig.during(host.write("Docs/a", "a"));
    await rig.during(host.write("docs/b", "b"));
    await rig.flush();
    expect(desk.tree()).toEqual({ readme: "1", "Docs/": "", "Docs/a": "a" });
    const held = await rig.during(desk.sync.conflicts());
    expect(held.map(({ record }) => [record.path, record.reason])).toEqual([
      ["README", "collision"],
      ["docs", "collision"],
    ]);
    await rig.during(host.write("readme", undefined));
    await rig.flush();
    expect(desk.tree()).toEqual({ README: "2", "Docs/": "", "Docs/a": "a" });
    expect(desk.sync.shape.conflicts).toBe(1);
  });

  it("a folder continues from the origin's present state, with its own edits, if the events in between are gone", async () => {
    const { host, desk } = await started({ a: "1", b: "1", "d/c": "1", "text.md": "1\n2\n3\n" });
    await rig.during(desk.close());
    desk.edit("a", "mine");
    desk.edit("text.md", "one\n2\n3\n");
    await rig.during(host.write("b", "2"));
    await rig.during(host.write("d", undefined));
    await rig.during(host.write("text.md", "1\n2\nthree\n"));
    await rig.during(host.workspace.compact({ dropArchive: true }));
    await rig.during(host.write("new", "n"));
    await rig.during(desk.start());
    await rig.flush();
    const { desk: here, host: there } = await trees();
    expect(here).toEqual({ a: "mine", b: "2", new: "n", "text.md": "one\n2\nthree\n" });
    expect(there).toEqual(here);
    expect(desk.hold.mirror.start).toBeGreaterThan(0);
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0 });
  });

  it("an origin that does not know the workspace is asked only once", async () => {
    const { desk } = await started({ a: "1" });
    desk.cut();
    await rig.during(desk.close());
    let asked = 0;
    const refuses = async (): Promise<never> => {
      asked += 1;
      throw new ChronicleError("NOT_FOUND", "there is no such workspace");
    };
    await rig.during(desk.start({ connect: refuses }));
    await rig.pass(60_000);
    expect(asked).toBe(1);
    expect(desk.sync.shape).toMatchObject({ state: "halted", reason: "there is no such workspace" });
    desk.heal();
    await rig.during(desk.close());
    await rig.during(desk.start());
    await rig.during(desk.sync.resume());
    await rig.flush();
  });

  it("an origin that is away is asked again and again, at most 4 s apart", async () => {
    const { desk } = await started({ a: "1" });
    await rig.during(desk.close());
    const asked: number[] = [];
    const isAway = async (): Promise<never> => {
      asked.push(rig.clock.now);
      throw new ChronicleError("UNAVAILABLE", "nobody answers");
    };
    await rig.during(desk.start({ connect: isAway }));
    await rig.pass(120_000);
    // The sync retries quickly at first and every 4 s later, so that both sides are equal within 10 s after any outage.
    expect(asked.length).toBeGreaterThan(25);
    expect(asked.length).toBeLessThan(70);
    const waits = asked.slice(1).map((at, i) => at - (asked[i] ?? 0));
    expect(Math.min(...waits)).toBeLessThan(500);
    expect(Math.max(...waits)).toBeLessThanOrEqual(4_000);
    expect(desk.sync.shape).toMatchObject({ state: "offline", reason: "nobody answers" });
  });
});

describe("filters", () => {
  it("a filtered path stays on its own side, in both directions", async () => {
    await started(
      { "build/out": "b", "src/a": "1", "secret/key": "s" },
      { record: { filterTo: ["secret/"], filterFrom: ["build/", "*.log"] } },
    );
    rig.desk.edit("src/x.log", "log");
    rig.desk.edit("build/mine", "m");
    rig.desk.edit("secret/mine", "m");
    rig.desk.edit("src/b", "2");
    await rig.flush();
    const { desk, host } = await trees();
    expect(Object.keys(desk).sort()).toEqual(
      ["build/", "build/mine", "build/out", "secret/", "secret/mine", "src/", "src/a", "src/b", "src/x.log"].sort(),
    );
    expect(Object.keys(host).sort()).toEqual([
      "build/",
      "build/out",
      "secret/",
      "secret/key",
      "src/",
      "src/a",
      "src/b",
    ]);
    expect(rig.desk.sync.shape).toMatchObject({ state: "in-sync", pending: 0, conflicts: 0 });
  });
});
