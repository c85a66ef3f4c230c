import { renameSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { RecentItem } from "../../src/api/recent-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { Project } from "../helpers/project.ts";

/** Carries out an action of an agent that writes a file. */
async function write(
  workspace: WorkspaceApi,
  project: Project,
  { path, text, ...of }: { path: string; text: string; turn?: string; session?: string; actor?: string },
): Promise<void> {
  const options = { type: "write_file", payload: { path }, actor: "claude", ...of };
  await workspace.action(options, () => project.write(path, text));
}

const kinds = (items: readonly RecentItem[]): string[] => items.map(({ kind }) => kind);

describe("the timeline lists everything that happened", () => {
  it("with who did it, in which paths, and with how many lines", async () => {
    await using project = new Project();
    project.write("a.txt", "one\ntwo\n");
    const workspace = await project.init();
    project.write("mine.txt", "m\n");
    await workspace.run({
      command: ["sh", "-c", "mkdir vendor; for i in 1 2 3 4 5 6 7 8; do echo $i > vendor/$i; done"],
    });
    await write(workspace, project, { path: "a.txt", text: "one\n2\n3\n", session: "s", turn: "t1" });
    await write(workspace, project, { path: "b.txt", text: "b\n", session: "s", turn: "t1" });
    await write(workspace, project, { path: "c.txt", text: "c\n", session: "s", turn: "t2" });
    await write(workspace, project, { path: "d.txt", text: "d\n", actor: "codex" });
    renameSync(project.at("mine.txt"), project.at("renamed.txt"));
    await workspace.snapshot({ message: "good" });
    const { items } = await workspace.recent();
    expect(
      items.map(({ kind, who, actor, summary, paths, lines, actions }) => [
        kind,
        `${who} ${actor}`,
        summary.slice(0, 30),
        paths.map((one) => (one.from === undefined ? "" : `${one.from} → `) + one.path + (one.files ?? "")).join(" "),
        lines === undefined ? "" : `+${lines.added} -${lines.removed}`,
        actions ?? 0,
      ]),
    ).toEqual([
      ["snapshot", "person human", "good", "mine.txt → renamed.txt", "", 0],
      ["action", "agent codex", "write_file: d.txt", "d.txt", "+1 -0", 0],
      ["turn", "agent claude", "write_file: c.txt", "c.txt", "+1 -0", 1],
      ["turn", "agent claude", "write_file: a.txt", "a.txt b.txt", "+3 -1", 2],
      ["run", "command human", "sh -c 'mkdir vendor; for i in ", "vendor8", "+8 -0", 0],
      ["edit", "person human", "edits outside of recorded work", "mine.txt", "+1 -0", 0],
      ["baseline", "person human", "baseline of 1 path", "", "", 0],
    ]);
  });

  it("actions beneath turns only on demand, sub-agents by name, and an undone turn with what undid it", async () => {
    await using project = new Project();
    const workspace = await project.init();
    await write(workspace, project, { path: "a", text: "1\n", session: "s", turn: "t" });
    const started = { type: "write_file", payload: { path: "b" }, actor: "claude", session: "s", turn: "t" };
    await workspace.action({ ...started, depth: 1 }, () => project.write("b", "1\n"));
    expect((await workspace.recent()).items[0]?.beneath).toBeUndefined();
    const [turn] = (await workspace.recent(20, { actions: true })).items;
    expect(turn).toMatchObject({ kind: "turn", who: "agent", actions: 2, changed: 2 });
    expect(turn?.beneath?.map(({ who, summary, state }) => [who, summary, state])).toEqual([
      ["agent", "write_file: a", "done"],
      ["sub-agent", "write_file: b", "done"],
    ]);
    const { operation } = await workspace.undo({ turn: "t" });
    const [undo, undone] = (await workspace.recent()).items;
    expect(undo).toMatchObject({ kind: "undo", id: operation?.id ?? undo?.id, who: "person" });
    expect(undone).toMatchObject({ kind: "turn", undone: true, undone_by: undo?.id, back: "" });
    await workspace.redo();
    expect((await workspace.recent()).items.find(({ kind }) => kind === "turn")?.undone).toBeUndefined();
  });

  it("a turn by what the person had asked, but not for agents", async () => {
    await using project = new Project();
    const workspace = await project.init();
    await workspace.startTurn({ session: "s", turn: "t", actor: "claude", prompt: "\nTidy up the parser\nplease" });
    await write(workspace, project, { path: "a", text: "1\n", session: "s", turn: "t" });
    expect((await workspace.recent()).items[0]).toMatchObject({ kind: "turn", summary: "Tidy up the parser" });
    expect(kinds((await workspace.recent(20, { grep: "the PARSER" })).items)).toEqual(["turn"]);
    const agent = workspace.as({ role: "agent" });
    expect((await agent.recent()).items[0]).toMatchObject({ kind: "turn", summary: "write_file: a" });
    expect((await agent.recent(20, { grep: "the parser" })).items).toEqual([]);
  });

  it("edits: bursts that a pause or other work divides, and when they were found and made at the latest", async () => {
    await using project = new Project();
    const workspace = await project.init();
    project.write("a", "1\n");
    await workspace.record(["a"]);
    project.write("b", "1\n");
    await workspace.record(["b"]);
    await write(workspace, project, { path: "c", text: "1\n", session: "s", turn: "t" });
    project.write("d", "1\n");
    await workspace.record(["d"]);
    const { items } = await workspace.recent();
    expect(items.map(({ kind, paths }) => [kind, paths.map(({ path }) => path).join(" ")])).toEqual([
      ["edit", "d"],
      ["turn", "c"],
      ["edit", "a b"],
      ["baseline", ""],
    ]);
    const [last, , first, baseline] = items;
    // The record of a path does not look at the whole folder.
    expect([first?.changed_since, last?.changed_since]).toEqual([baseline?.timestamp, baseline?.timestamp]);
  });

  it("edits while a watch goes on, and a run that goes on", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const watch = await workspace.watch();
    project.write("seen", "1\n");
    await watch.stop();
    const [item] = (await workspace.recent()).items;
    expect(item).toMatchObject({ kind: "watch", summary: "edits, seen by a watch", changed: 1 });
    expect(item?.changed_since).toBeUndefined();
    const end = project.at("end");
    const going = workspace.run({
      command: ["sh", "-c", `echo 1 > out; while [ ! -e '${end}' ]; do sleep 0.05; done`],
    });
    const open = async (): Promise<RecentItem | undefined> =>
      (await workspace.recent()).items.find((one) => one.open === true);
    await expect.poll(open, { timeout: 10_000 }).toMatchObject({ kind: "run", who: "command", back: "" });
    project.write("end", "");
    await going;
    expect(await open()).toBeUndefined();
  });

  it("changes that several may have made, as made by nobody in particular", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const call = { type: "run_shell", payload: { command: "make" }, session: "s" };
    const [one, two] = [
      await workspace.snapshotAction({ ...call, actor: "claude", session: "s1" }),
      await workspace.snapshotAction({ ...call, actor: "codex", session: "s2" }),
    ];
    project.write("whose", "1\n");
    await workspace.finishAction(one?.id ?? "", { outcome: "done" });
    await workspace.finishAction(two?.id ?? "", { outcome: "done" });
    const item = (await workspace.recent()).items.find(({ paths }) => paths.some(({ path }) => path === "whose"));
    expect(item).toMatchObject({ kind: "edit", who: "unknown", actor: "ambiguous" });
    expect(item?.summary).toContain("any of 2");
  });
});

describe("the command that a line shows leads to the state before the work of the line", () => {
  /** Does work of one kind, as the last of a history. */
  const works: Readonly<Record<string, (workspace: WorkspaceApi, project: Project) => Promise<unknown>>> = {
    run: (workspace) => workspace.run({ command: ["sh", "-c", "echo x > a; echo x > new; rm old"] }),
    turn: async (workspace, project) => {
      await write(workspace, project, { path: "a", text: "x\n", session: "s", turn: "turn-of-work" });
      await write(workspace, project, { path: "new", text: "x\n", session: "s", turn: "turn-of-work" });
    },
    action: (workspace, project) => write(workspace, project, { path: "a", text: "x\n" }),
    edit: async (workspace, project) => {
      project.write("a", "x\n");
      project.write("new", "x\n");
      await workspace.record(["a", "new"]);
    },
    watch: async (workspace, project) => {
      const watch = await workspace.watch();
      project.write("a", "x\n");
      await watch.stop();
    },
    snapshot: async (workspace, project) => {
      project.write("a", "x\n");
      await workspace.snapshot({ message: "with edits" });
    },
    transaction: async (workspace, project) => {
      const { id } = await workspace.beginTransaction({ name: "both", pid: null });
      project.write("a", "x\n");
      project.write("new", "x\n");
      await workspace.commitTransaction(id);
    },
    restore: (workspace) => workspace.restore("0"),
    undo: (workspace) => workspace.undo(),
    redo: async (workspace) => {
      await workspace.undo();
      return workspace.redo();
    },
    write: (workspace) => workspace.putFile("a", Buffer.from("x\n")),
  };

  it.each(Object.keys(works))("%s", async (kind) => {
    await using project = new Project();
    project.write("a", "0\n");
    project.write("old", "0\n");
    const workspace = await project.init();
    await workspace.run({ command: ["sh", "-c", "echo 1 > a; echo 1 > earlier"] });
    project.write("person", "p\n");
    await workspace.snapshot();
    const before = project.tree();
    if (kind === "redo") await workspace.undo();
    const start = kind === "redo" ? project.tree() : before;
    if (kind === "redo") await workspace.redo();
    else await works[kind]?.(workspace, project);
    const { items } = await workspace.recent();
    expect(items[0]?.kind).toBe(kind);
    expect(project.tree()).not.toEqual(start);
    await carryOut(workspace, items[0]?.back ?? "");
    expect(project.tree()).toEqual(start);
  });

  it("a burst of edits that was recorded in one commit with the end of an action", async () => {
    await using project = new Project();
    project.write("a", "0\n");
    const workspace = await project.init();
    const before = project.tree();
    await workspace.action(
      { type: "write_file", payload: { path: "b" }, actor: "claude", session: "s", turn: "t" },
      () => {
        project.write("b", "1\n");
        project.write("c", "by a person\n");
      },
    );
    await workspace.snapshot();
    for (const item of (await workspace.recent()).items.filter(({ kind }) => kind === "edit" || kind === "snapshot")) {
      await workspace.restore(item.back.replace("chronicle restore ", ""));
      const tree = project.tree();
      expect(Object.keys(tree)).not.toContain("c");
      if (item.kind === "edit") expect(tree).toEqual(before);
    }
  });
});

async function carryOut(workspace: WorkspaceApi, command: string): Promise<void> {
  const [, verb = "", ...rest] = command.split(" ");
  if (verb === "restore") await workspace.restore(rest[0] ?? "");
  else if (verb === "redo") await workspace.redo();
  else if (rest[0] === "--turn") await workspace.undo({ turn: rest[1] ?? "" });
  else await workspace.undo(rest[0] === undefined ? {} : { operation: rest[0] });
}

describe("the filters of the timeline", () => {
  it("each alone, several together, and as options of the command", async () => {
    using box = new Sandbox();
    box.write("a", "0");
    await box.must(["init"]);
    await box.must(["run", "--", "sh", "-c", "mkdir src; echo 1 > src/f"]);
    await box.must(["run", "--", "sh", "-c", "echo 1 > a"]);
    box.write("b", "1");
    await box.must(["snapshot", "-m", "Mine"]);
    const list = async (...words: string[]): Promise<string[]> =>
      kinds(((await box.json(["list", ...words])).value as { items: RecentItem[] }).items);
    expect(await list()).toEqual(["snapshot", "run", "run", "baseline"]);
    expect(await list("--kind", "run")).toEqual(["run", "run"]);
    expect(await list("--actor", "command")).toEqual(["run", "run"]);
    expect(await list("--file", "src")).toEqual(["run"]);
    expect(await list("--since", "1")).toEqual(["snapshot", "run"]);
    expect(await list("--grep", "MKDIR")).toEqual(["run"]);
    expect(await list("--grep", "mine", "--kind", "run")).toEqual([]);
    expect(await list("--limit", "1")).toEqual(["snapshot"]);
    const [run] = ((await box.json(["list", "--kind", "run"])).value as { items: RecentItem[] }).items;
    expect(await list("--session", run?.session?.slice(0, 8) ?? "")).toEqual(["run"]);
    const wrong = await box.call(["list", "--kind", "runs"]);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("baseline, run, turn")]);
    expect((await box.must(["list", "--grep", "nothing like it"])).stdout).toBe(
      "nothing that was recorded matches\nto search the contents: chronicle log -S 'nothing like it'\n",
    );
    expect((await box.must(["list", "--kind", "redo"])).stdout).toBe("nothing that was recorded matches\n");
    expect((await box.must(["--limit", "1"])).stdout).toBe((await box.must(["list", "--limit", "1"])).stdout);
    const turn = await box.call(["undo", "--turn", "2"]);
    expect([turn.code, turn.stderr]).toEqual([3, expect.stringContaining("chronicle turns")]);
  });
});

describe("a list of a long history", () => {
  it("has the same lines, whether they are read page by page or all at once", async () => {
    await using project = new Project();
    project.write("a", "0\n");
    const workspace = await project.init();
    for (let n = 0; n < 12; n += 1) {
      await write(workspace, project, { path: "a", text: `${n}\n`, session: "s", turn: `turn-${n >> 1}` });
      if (n === 3) await workspace.undo({ turn: "turn-1" });
      if (n === 4) await workspace.run({ command: ["sh", "-c", "for i in $(seq 1 700); do echo $i > m$i; done"] });
      if (n === 8) await workspace.run({ command: ["sh", "-c", "rm m*"] });
      project.write("mine", `${n}\n`);
      await workspace.record(["mine"]);
    }
    const all = await workspace.recent(1_000);
    expect((await workspace.head()).seq).toBeGreaterThan(1_400);
    for (const limit of [1, 3, 7, 12, 20]) {
      const { items, undoable } = await workspace.recent(limit);
      expect([limit, undoable]).toEqual([limit, all.undoable]);
      expect(items).toEqual(all.items.slice(0, limit));
    }
  });
});
