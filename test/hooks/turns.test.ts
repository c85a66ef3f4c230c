import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { claude } from "../../src/hooks/claude.ts";
import { exportArchive } from "../../src/open.ts";
import { codex } from "../../src/hooks/codex.ts";
import { gemini } from "../../src/hooks/gemini.ts";
import { ClockedProject } from "../helpers/clocked-project.ts";
import { Project } from "../helpers/project.ts";
import { Agent, quiet } from "./hooked-agent.ts";

const DAY_MINUTES = 24 * 60;

/** Returns the bytes of all lines of the log below a folder. */
function logText(folder: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files
    .filter((name) => name.endsWith(".wal"))
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("");
}

describe("what a person asks an agent", () => {
  it("is kept with its turn, for persons only, and stands in no line of the log", async () => {
    await using project = new Project();
    project.write("a.txt", "one\n");
    const agent = new Agent(claude, project);
    quiet(await agent.hears("SessionStart"));
    const asked = { prompt_id: "t1", prompt: "\nrefactor the parser\nand its tests", transcript_path: "/t/s1.jsonl" };
    quiet(await agent.hears("UserPromptSubmit", asked));
    await agent.writes("a.txt", "two\n", "c1");
    const workspace = await project.open();
    const [turn, ...others] = await workspace.turns();
    expect(others).toEqual([]);
    expect(turn).toMatchObject({
      ...{ turn: "t1", session: "s1", actor: "claude", actions: 1, changed: 1, paths: ["a.txt"], undone: "no" },
      ...{ prompt: asked.prompt, prompt_state: "kept", transcript: "/t/s1.jsonl", message: "t1", short_id: "t1" },
    });
    const [hidden] = await workspace.as({ role: "agent", actor: "claude" }).turns();
    expect(hidden).toMatchObject({ turn: "t1", prompt: null, prompt_state: "hidden", transcript: null, message: null });
    const log = logText(project.home);
    expect(log).toContain("turn:s1:t1");
    expect(log).not.toMatch(/refactor|jsonl/);
    const [event] = await workspace.log({ prefix: "turn:" });
    const record: unknown = event?.record;
    const { prompt } = record as { readonly prompt: { readonly content: string } };
    await expect(workspace.blob(prompt.content)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("is masked where it holds a secret, and cut after 16 KiB between two characters", async () => {
    await using project = new Project();
    const agent = new Agent(claude, project);
    quiet(await agent.hears("SessionStart"));
    const secret = `ghp_${"a1B2".repeat(9)}`;
    const prompt = `push with ${secret}\n${"é".repeat(9_000)}`;
    quiet(await agent.hears("UserPromptSubmit", { prompt_id: "t1", prompt }));
    const [turn] = await (await project.open()).turns();
    expect(turn).toMatchObject({ prompt_cut: true, prompt_state: "kept" });
    expect(turn?.prompt?.startsWith("push with ***\né")).toBe(true);
    expect(turn?.prompt?.endsWith("é")).toBe(true);
    expect(16 * 1024 - Buffer.byteLength(turn?.prompt ?? "")).toBeLessThan(2);
  });

  it("is told by Codex and Gemini CLI as well", async () => {
    await using project = new Project();
    const open = () => project.open({ create: true, role: "agent" });
    const [one, other] = [new Agent(codex, project, { open }), new Agent(gemini, project, { open })];
    quiet(await one.hears("UserPromptSubmit", { session_id: "x1", turn_id: "u1", prompt: "from Codex" }));
    const told = { session_id: "g1", timestamp: "2030-01-01T00:00:00.000Z", prompt: "from Gemini" };
    await other.hears("BeforeAgent", told);
    const turns = await (await project.open()).turns();
    expect(turns.map(({ actor, prompt, turn }) => [actor, prompt, turn])).toEqual([
      ["gemini", "from Gemini", "g1-2030-01-01T00_00_00.000Z"],
      ["codex", "from Codex", "u1"],
    ]);
  });

  it("is one turn if two installed hooks report it, with and without an id of the turn", async () => {
    await using project = new Project();
    const agent = new Agent(claude, project);
    quiet(await agent.hears("SessionStart"));
    for (const asked of [{ prompt_id: "t1", prompt: "first" }, { prompt: "second" }]) {
      for (const _hook of ["user's", "project's"]) quiet(await agent.hears("UserPromptSubmit", asked));
      project.write("a.txt", `${asked.prompt}\n`);
    }
    const turns = await (await project.open()).turns();
    expect(turns.map(({ prompt }) => prompt)).toEqual(["second", "first"]);
  });

  it("begins a turn of its own without an id, also if nothing was recorded since the message before", async () => {
    await using project = new Project();
    const agent = new Agent(claude, project);
    quiet(await agent.hears("SessionStart"));
    quiet(await agent.hears("UserPromptSubmit", { prompt: "first" }));
    project.write("hand.txt", "by a person\n");
    quiet(await agent.hears("UserPromptSubmit", { prompt: "second" }));
    quiet(await agent.hears("Stop"));
    quiet(await agent.hears("UserPromptSubmit", { prompt: "second" }));
    const turns = await (await project.open()).turns();
    expect(turns.map(({ prompt }) => prompt)).toEqual(["second", "second", "first"]);
  });

  it("does not stop the agent if it cannot be recorded, and the agent tells why", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const open = () =>
      Promise.resolve(
        new Proxy(workspace, {
          get: (target, key): unknown => {
            if (key === "startTurn") return () => workspace.startTurn({ session: "s1", turn: "no id" });
            const value: unknown = Reflect.get(target, key, target);
            return typeof value === "function" ? (value.bind(target) as unknown) : value;
          },
        }),
      );
    const agent = new Agent(claude, project, { open, strict: true });
    const { blocked, stdout } = await agent.hears("UserPromptSubmit", { prompt_id: "t1", prompt: "go" });
    expect(blocked).toBe(false);
    expect(stdout).toContain("the beginning of this turn is not recorded");
  });
});

describe("a person's edit that a hook is the first to see", () => {
  it("is the person's, before a prompt and before a tool, and an undo of the agent's work leaves it", async () => {
    await using project = new Project();
    const agent = new Agent(claude, project);
    quiet(await agent.hears("SessionStart"));
    project.write("before-prompt.txt", "by a person\n");
    quiet(await agent.hears("UserPromptSubmit", { prompt_id: "t1", prompt: "go" }));
    project.write("before-tool.txt", "by a person\n");
    await agent.runs("make", () => project.write("agents.txt", "by the agent\n"), "c1");
    const workspace = await project.open();
    const actors = async (path: string) => (await workspace.history(path)).map(({ actor }) => actor);
    expect(await actors("before-prompt.txt")).toEqual(["human"]);
    expect(await actors("before-tool.txt")).toEqual(["human"]);
    expect(await actors("agents.txt")).toEqual(["claude"]);
    const { items } = await workspace.recent();
    expect(items.filter(({ kind }) => kind === "edit").map(({ who }) => who)).toEqual(["person"]);
    for (const actor of ["agent", "claude"]) await workspace.undo({ actor }).catch(() => undefined);
    expect([project.read("before-prompt.txt"), project.read("before-tool.txt")]).toEqual([
      "by a person\n",
      "by a person\n",
    ]);
  });
});

describe("a recorded prompt", () => {
  const start = { session: "s1", turn: "t1", prompt: "keep it short" };

  it("is gone after thirty days: gc frees it, and verify does not miss it", async () => {
    await using project = new ClockedProject();
    const workspace = await project.init();
    await workspace.startTurn(start);
    project.pass(29 * DAY_MINUTES);
    await workspace.gc();
    expect((await workspace.turns())[0]).toMatchObject({ prompt: "keep it short" });
    project.pass(2 * DAY_MINUTES);
    expect((await workspace.turns())[0]).toMatchObject({ prompt: null, prompt_state: "gone" });
    expect((await workspace.gc()).freed_blobs).toBeGreaterThan(0);
    expect((await workspace.verify()).ok).toBe(true);
  });

  it("that was freed is no damage after recordPrompts is on again, and an export leaves it out", async () => {
    await using project = new ClockedProject();
    const workspace = await project.init();
    await workspace.startTurn(start);
    await workspace.configure({ recordPrompts: false });
    project.pass(2 * DAY_MINUTES);
    await workspace.gc();
    await workspace.configure({ recordPrompts: true });
    await workspace.startTurn({ ...start, turn: "t2", prompt: "kept again" });
    expect((await workspace.verify()).problems).toEqual([]);
    const file = join(project.base, "history.chronicle");
    await exportArchive(await project.store(), workspace.id, { file, withPrivate: true });
    expect((await workspace.turns()).map((one) => one.prompt_state)).toEqual(["kept", "gone"]);
    await workspace.gc();
    expect((await workspace.turns())[0]).toMatchObject({ prompt: "kept again" });
  });

  it("is not kept at all with recordPrompts off, and what was kept before is freed", async () => {
    await using project = new ClockedProject();
    const workspace = await project.init();
    await workspace.startTurn(start);
    await workspace.configure({ recordPrompts: false });
    await workspace.startTurn({ ...start, turn: "t2", prompt: "not this" });
    expect((await workspace.turns()).map((one) => one.prompt_state)).toEqual(["none", "gone"]);
    expect((await workspace.config()).recordPrompts).toBe(false);
  });
});
