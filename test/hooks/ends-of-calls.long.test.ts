import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { FileNotes, KeptNotes } from "../../src/daemon/file-notes.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { claude } from "../../src/hooks/claude.ts";
import { codex } from "../../src/hooks/codex.ts";
import { Project } from "../helpers/project.ts";
import { Agent, quiet } from "./hooked-agent.ts";

const bash = (id: string, command = "make") => ({ tool_name: "Bash", tool_input: { command }, tool_use_id: id });
const patched = (file: string): string =>
  `apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: ${file}\n+x\n*** End Patch\nEOF`;

async function calls(workspace: WorkspaceApi) {
  return (await workspace.list()).map((one) => [one.tool_call, one.state, one.changed]);
}

/** Another process that has the lock of the only workspace. */
async function lockHeld(project: Project): Promise<ChildProcess> {
  const [id = ""] = readdirSync(join(project.home, "workspaces"));
  const script = `
    const { DatabaseSync } = require("node:sqlite");
    new DatabaseSync(process.argv[1]).exec("BEGIN EXCLUSIVE");
    console.log("held");
    setInterval(() => {}, 1_000);`;
  const path = join(project.home, "workspaces", id, "lock.db");
  const holder = spawn(process.execPath, ["-e", script, path], { stdio: ["ignore", "pipe", "inherit"] });
  await once(holder.stdout, "data");
  return holder;
}

async function killed(process: ChildProcess): Promise<void> {
  process.kill("SIGKILL");
  await once(process, "exit");
}

describe("an end that cannot be recorded", () => {
  it("is recorded before the next call, once it can be", async () => {
    await using project = new Project();
    await (await project.init()).close();
    const workspace = await (await project.store({ waitMs: 20 })).open({ folder: project.folder });
    const agent = new Agent(claude, project, { open: async () => workspace });
    const of = { prompt_id: "t1" };
    quiet(await agent.hears("PreToolUse", { ...bash("c1"), ...of }));
    project.write("one", "1\n");
    const holder = await lockHeld(project);
    expect((await agent.hears("PostToolUse", { ...bash("c1"), ...of })).problem).toContain("held by");
    await killed(holder);
    await agent.runs("make", () => project.write("two", "2\n"), "c2");
    expect(await calls(workspace)).toEqual([
      ["c1", "done", 1],
      ["c2", "done", 1],
    ]);
    quiet(await agent.hears("Stop", of));
    await workspace.undo({ action: "c2" });
    expect(Object.keys(project.tree())).toEqual(["one"]);
  });

  it("of a patch that does not fit into the store is reported, and the next call is recorded", async () => {
    await using project = new Project();
    await (await project.init()).close();
    const store = await project.store({ retention: { max_store_bytes: 1024 * 1024 } });
    const workspace = await store.open({ folder: project.folder });
    const agent = new Agent(codex, project, { open: async () => workspace });
    const of = { turn_id: "t1" };
    quiet(await agent.hears("PreToolUse", { ...bash("c1", patched("large")), ...of }));
    project.write("large", randomBytes(2 * 1024 * 1024));
    const next = { tool_name: "apply_patch", tool_input: { command: patched("small") }, tool_use_id: "c2", ...of };
    const answer = await agent.hears("PreToolUse", next);
    expect(answer.blocked).toBe(false);
    expect(answer.problem).toMatch(/^the changes of an earlier call are not recorded: .*max_store_bytes/);
    project.write("small", "x\n");
    quiet(await agent.hears("PostToolUse", next));
    expect(await calls(workspace)).toEqual([
      ["c1", "done", 0],
      ["c2", "done", 1],
    ]);
  });

  it.each([claude, codex])(
    "of a forgotten history does not stop the recording of the new one: $title",
    async (adapter) => {
      await using project = new Project();
      const first = await project.store();
      const agent = new Agent(adapter, project, { open: () => project.open({ create: true, role: "agent" }) });
      quiet(await agent.hears("PreToolUse", bash("c1", patched("a"))));
      const [old] = await first.workspaces();
      await first.forget(old?.id ?? "");
      const workspace = await project.init();
      quiet(await agent.hears("PreToolUse", bash("c2")));
      project.write("made", "made\n");
      quiet(await agent.hears("PostToolUse", bash("c2")));
      expect(await calls(workspace)).toEqual([["c2", "done", 1]]);
      quiet(await agent.hears("UserPromptSubmit", {}));
      expect(agent.notes.get("s1")?.open).toEqual({});
    },
  );
});

it("the undo of a call brings back what was kept aside for it, although another call ran beside it", async () => {
  await using project = new Project();
  project.write(".gitignore", "*.env\n");
  project.write(".git/HEAD", "ref: refs/heads/main\n");
  project.write("local.env", "KEY=1");
  const workspace = await project.init();
  const agent = new Agent(claude, project);
  quiet(await agent.hears("PreToolUse", bash("c1", "git clean -fdx")));
  quiet(await agent.hears("PreToolUse", bash("c2")));
  project.remove("local.env");
  quiet(await agent.hears("PostToolUse", bash("c1", "git clean -fdx")));
  quiet(await agent.hears("PostToolUse", bash("c2")));
  await workspace.gc();
  await workspace.undo({ action: "c1" });
  expect(project.read("local.env")).toBe("KEY=1");
});

describe("a sub-agent", () => {
  const lane = (id: string, turn: string) => ({ ...bash(id, "npm run codegen"), agent_id: "a1", prompt_id: turn });

  it("in the background owns what it changes after its turn has ended, beside the agent's next turn", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const agent = new Agent(claude, project);
    quiet(await agent.hears("UserPromptSubmit", { prompt_id: "t1" }));
    quiet(await agent.hears("PreToolUse", lane("b1", "t1")));
    quiet(await agent.hears("Stop", { prompt_id: "t1" }));
    quiet(await agent.hears("UserPromptSubmit", { prompt_id: "t2" }));
    const write = { tool_name: "Write", tool_input: { file_path: "mine" }, tool_use_id: "c2", prompt_id: "t2" };
    quiet(await agent.hears("PreToolUse", write));
    project.write("mine", "m\n");
    project.write("generated", "g\n");
    quiet(await agent.hears("PostToolUse", lane("b1", "t1")));
    // The next call of the sub-agent still names its own turn. This does not end the current turn of the agent.
    quiet(await agent.hears("PreToolUse", lane("b2", "t1")));
    quiet(await agent.hears("PostToolUse", write));
    quiet(await agent.hears("PostToolUse", lane("b2", "t1")));
    expect(await calls(workspace)).toEqual([
      ["b1", "done", 1],
      ["c2", "done", 1],
      ["b2", "done", 0],
    ]);
    await workspace.undo({ turn: "t1" });
    expect(Object.keys(project.tree())).toEqual(["mine"]);
  });

  it("and its agent keep their open calls when another process answers the next hook", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const agent = new Agent(claude, project);
    // Each process knows only what is in the file that the one before has written.
    const anotherAnswers = (): void => {
      agent.answering = new KeptNotes(new FileNotes(new NodeDisk(), project.base));
    };
    anotherAnswers();
    quiet(await agent.hears("UserPromptSubmit", { prompt_id: "t1" }));
    quiet(await agent.hears("PreToolUse", lane("b1", "t1")));
    quiet(await agent.hears("Stop", { prompt_id: "t1" }));
    quiet(await agent.hears("PostToolUse", lane("b1", "t1")));
    quiet(await agent.hears("PreToolUse", lane("b2", "t1")));
    project.write("generated", "g\n");
    anotherAnswers();
    quiet(await agent.hears("UserPromptSubmit", { prompt_id: "t2" }));
    project.write("more", "g\n");
    quiet(await agent.hears("PostToolUse", lane("b2", "t1")));
    // The other way round: the sub-agent's turn ends while the agent has a call open.
    quiet(await agent.hears("PreToolUse", { ...bash("c1"), prompt_id: "t2" }));
    anotherAnswers();
    quiet(await agent.hears("Stop", { agent_id: "a1", prompt_id: "t1" }));
    expect((await calls(workspace)).map(([id, state]) => [id, state])).toContainEqual(["c1", "open"]);
    quiet(await agent.hears("PostToolUse", { ...bash("c1"), prompt_id: "t2" }));
    expect(await calls(workspace)).toEqual([
      ["b1", "done", 0],
      ["b2", "done", 2],
      ["c1", "done", 0],
    ]);
    await workspace.undo({ turn: "t1" });
    expect(Object.keys(project.tree())).toEqual([]);
  });

  it("whose turn is interrupted leaves no call open, but an end of the call that comes later still counts", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const agent = new Agent(claude, project);
    quiet(await agent.hears("UserPromptSubmit", { prompt_id: "t1" }));
    quiet(await agent.hears("PreToolUse", lane("b1", "t1")));
    quiet(await agent.hears("UserPromptSubmit", { prompt_id: "t2" }));
    expect(await calls(workspace)).toEqual([["b1", "abandoned", 0]]);
    project.write("generated", "g\n");
    quiet(await agent.hears("PostToolUse", lane("b1", "t1")));
    expect(await calls(workspace)).toEqual([["b1", "done", 1]]);
  });
});

describe("calls beside each other", () => {
  it.each(["first", "second"])(
    "are both done, although their agent does not mark them as parallel, also if the %s ends first",
    async (which) => {
      await using project = new Project();
      const workspace = await project.init();
      const agent = new Agent(claude, project);
      const [first, second] = [
        { ...bash("c1"), prompt_id: "t1" },
        { ...bash("c2", "npm ls"), prompt_id: "t1" },
      ];
      quiet(await agent.hears("PreToolUse", first));
      quiet(await agent.hears("PreToolUse", second));
      project.write("x", "x\n");
      for (const call of which === "first" ? [first, second] : [second, first]) {
        quiet(await agent.hears("PostToolUse", call));
        quiet(await agent.hears("PostToolUse", call));
      }
      quiet(await agent.hears("Stop", { prompt_id: "t1" }));
      expect((await calls(workspace)).map(([id, state]) => [id, state])).toEqual([
        ["c1", "done"],
        ["c2", "done"],
      ]);
      // While both calls were open, nobody knows whose change it is. So it belongs to the turn.
      if (which === "first") expect((await workspace.undo({ action: "c2" })).changes).toEqual([]);
      await workspace.undo({ turn: "last" });
      expect(Object.keys(project.tree())).toEqual([]);
    },
  );
});

describe("a call that a person denies", () => {
  it.each(["UserPromptSubmit", "SessionEnd"])("owns nothing that the person then changes: %s", async (event) => {
    await using project = new Project();
    project.write("a", "before\n");
    project.write("b", "before\n");
    const workspace = await project.init();
    const agent = new Agent(claude, project);
    quiet(await agent.hears("UserPromptSubmit", { prompt_id: "t1" }));
    await agent.writes("made", "m\n", "c1");
    const [write, shell] = [
      { tool_name: "Write", tool_input: { file_path: "a" }, tool_use_id: "c2", prompt_id: "t1" },
      { ...bash("c3", "sed -i s/x/y/ b"), agent_id: "a1", prompt_id: "t1" },
    ];
    quiet(await agent.hears("PreToolUse", write));
    quiet(await agent.hears("PreToolUse", shell));
    project.write("a", "by hand\n");
    project.write("b", "by hand\n");
    quiet(await agent.hears(event, { prompt_id: "t2" }));
    expect(await workspace.changes({ turn: "t1" })).toMatchObject({
      changes: [{ path: "made" }],
      ambiguous: ["a", "b"],
    });
    await workspace.undo({ turn: "t1" });
    await workspace.undo({ session: "s1" });
    await workspace.undo({ actor: "claude" });
    expect([project.read("a"), project.read("b")]).toEqual(["by hand\n", "by hand\n"]);
    expect(Object.keys(project.tree())).toEqual(["a", "b"]);
    expect((await workspace.verify()).problems).toEqual([]);
  });
});
