/**
 * The real agent programs, offline, with a model that follows a script. Their changes are recorded by tool call and
 * undone. In CI, all programs must be installed.
 */
import { existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { chronicleBin } from "../helpers/cli-package.ts";
import { AgentProject } from "./agent-project.ts";
import type { AgentProgram, Step } from "./agent-program.ts";
import { claudeProgram } from "./claude-program.ts";
import { clineProgram } from "./cline-program.ts";
import { codexProgram } from "./codex-program.ts";
import { copilotProgram } from "./copilot-program.ts";
import { geminiProgram } from "./gemini-program.ts";
import { opencodeProgram } from "./opencode-program.ts";
import { agentsRequired, isInstalled } from "./installed-agents.ts";
import { asObject, asObjects, type JsonObject } from "./json.ts";
import { PROMPT } from "./run-agent.ts";

const PROGRAMS = [claudeProgram, codexProgram, geminiProgram, opencodeProgram, copilotProgram, clineProgram];
const present = PROGRAMS.filter(isInstalled);

const PLUGIN = join(dirname(dirname(import.meta.dirname)), "plugins", "claude-code");
/** The prefix that Claude Code gives to the names of the tools of the plugin's server. */
const ALLOWED = "mcp__plugin_chronicle_chronicle";

const STEPS: readonly Step[] = [
  { write: "hello.txt", content: "hello v1\nsecond line\nthird line\nfourth line\n" },
  { edit: "hello.txt", from: "hello v1", to: "hello v2" },
  { write: "notes.txt", content: "a note\n" },
  { shell: "echo from the shell >> hello.txt" },
  { shell: "rm -rf old; ls" },
  { shell: "git reset --hard" },
];

/** The paths that each step changes, with the folders that it makes or removes. */
const CHANGED: readonly (readonly string[])[] = [
  ["hello.txt"],
  ["hello.txt"],
  ["notes.txt"],
  ["hello.txt"],
  ["old", "old/a.txt", "old/deep", "old/deep/b.txt", "old/not-in-git.txt"],
  ["old", "old/a.txt", "old/deep", "old/deep/b.txt", "tracked.txt"],
];

/** A project with committed and uncommitted work. */
function makeProject(...programs: readonly AgentProgram[]): AgentProject {
  const project = new AgentProject(...programs);
  project.write("tracked.txt", "committed\n");
  project.write("old/a.txt", "a\n");
  project.write("old/deep/b.txt", "b\n");
  project.install();
  project.commit();
  project.write("tracked.txt", "committed\nand edited by hand\n");
  project.write("old/not-in-git.txt", "git does not know this\n");
  return project;
}

/** Oldest first. */
const actionsOf = (project: AgentProject): JsonObject[] => asObjects(project.chronicle("actions")).toReversed();

/** The paths that an action changed, in the order of the list of changes. */
function changedBy(project: AgentProject, action: JsonObject): unknown[] {
  const { changes } = asObject(project.chronicle("changes", "--action", String(action["id"])));
  return asObjects(changes).map((change) => change["path"]);
}

it.runIf(agentsRequired)("all programs are installed", () => {
  expect(present.map((program) => program.name)).toEqual(["claude", "codex", "gemini", "opencode", "copilot", "cline"]);
});

describe.each(present)("$name", (program) => {
  it("each change belongs to its tool call; one call is undone alone, and the session as a whole", async () => {
    await using project = makeProject(program);
    const before = project.copy("before");
    await project.session(program, STEPS);
    expect(project.read("tracked.txt")).toBe("committed\n");

    const actions = actionsOf(project);
    expect(actions.map((action) => action["action_summary"])).toHaveLength(STEPS.length);
    for (const action of actions) {
      expect(action).toMatchObject({ actor: program.name, state: "done", coverage: { complete: true } });
    }
    expect(new Set(actions.map((action) => action["session"])).size).toBe(1);
    expect(new Set(actions.map((action) => action["turn"])).size).toBe(1);
    expect(typeof actions[0]?.["turn"]).toBe("string");
    const calls = actions.map((action) => action["tool_call"]);
    if (program.givesCallIds) expect(calls).toEqual(STEPS.map((_, n) => `call_000${n}`));
    else expect(new Set(calls.filter((call) => typeof call === "string")).size).toBe(STEPS.length);
    expect(actions.map((action) => changedBy(project, action))).toEqual(CHANGED);
    expect(actions.slice(0, 3).map((action) => action["files_backed_up"])).toEqual(CHANGED.slice(0, 3));

    // The hooks have told what the person asked, and where the agent keeps the conversation.
    const [turn, ...others] = asObjects(project.chronicle("turns"));
    expect(others).toEqual([]);
    expect(turn).toMatchObject({ turn: actions[0]?.["turn"], actor: program.name, actions: STEPS.length });
    expect(turn).toMatchObject({ prompt: PROMPT, prompt_state: "kept", undone: "no" });
    expect(existsSync(String(turn?.["transcript"]))).toBe(program.keepsTranscript);

    project.chronicle("rewind", "last");
    expect(project.differences(before)).toBe("");
    project.chronicle("redo");

    project.chronicle("undo", "--action", String(calls[1]));
    expect(project.read("hello.txt")).toBe("hello v1\nsecond line\nthird line\nfourth line\nfrom the shell\n");
    expect(project.read("notes.txt")).toBe("a note\n");

    project.chronicle("undo", "--session", String(actions[0]?.["session"]));
    expect(project.differences(before)).toBe("");
    expect(project.chronicle("conflicts")).toEqual([]);
    expect(project.chronicle("verify")).toMatchObject({ ok: true, problems: [] });
  });
});

/** How a person calls a command that Chronicle has installed. */
const SIGIL: Readonly<Record<string, string>> = {
  claude: "/",
  codex: "$",
  gemini: "/",
  opencode: "/",
  copilot: "/",
  cline: "/",
};

/** Copilot CLI gives the model the names of the skills. The model reads the one that was asked for. */
const readingSkills: AgentProgram = {
  ...copilotProgram,
  toCall: (step, folder) =>
    "mcp" in step && step.mcp === "skill" ? { name: "skill", input: step.input } : copilotProgram.toCall(step, folder),
};

describe.each(present.map((one) => (one === copilotProgram ? readingSkills : one)))(
  "$name, asked by an installed command",
  (program) => {
    const reads = (skill: string): Step[] => (program === readingSkills ? [{ mcp: "skill", input: { skill } }] : []);

    it("gets the text of the command, and takes the last turn back", async () => {
      await using project = makeProject(program);
      // Cline has MCP servers only of the user. Its hooks then run twice, for the user and for the project.
      if (program === clineProgram) project.chronicle("agents", "install", "cline");
      await project.session(program, [{ write: "hello.txt", content: "hello\n" }]);
      // The tools of MCP servers are not scripted for Codex.
      const step: Step =
        program === codexProgram
          ? { shell: `${process.execPath} ${chronicleBin()} undo --turn last --actor ${program.name}` }
          : { mcp: "undo", input: { turn: "last", actor: program.name } };
      const { requests } = await project.session(
        program,
        [...reads("chronicle-undo"), step],
        `${SIGIL[program.name]}chronicle-undo the greeting`,
      );
      const asked = requests.find((request) => request.includes("changes of files taken back. Chronicle has")) ?? "";
      expect(asked).toContain("the greeting");
      expect(asked).toContain(String.raw`{\"turn\": \"last\", \"actor\": \"${program.name}\"}`);
      expect(existsSync(join(project.folder, "hello.txt"))).toBe(false);

      const back = await project.attempt(program, reads("chronicle-rewind"), `${SIGIL[program.name]}chronicle-rewind`);
      const how = back.requests.find((request) => request.includes("before one of their earlier prompts")) ?? "";
      expect(how).toContain(String.raw`{\"rewind\": \"TURN\"}`);
    });
  },
);

describe.runIf(present.includes(claudeProgram))("an agent with the MCP server", () => {
  it("undoes its last edit", async () => {
    await using project = makeProject(claudeProgram);
    const { results } = await project.session(claudeProgram, [
      { write: "hello.txt", content: "hello v1\nsecond line\n" },
      { edit: "hello.txt", from: "hello v1", to: "broken" },
      { mcp: "list_actions", input: {} },
      (answers) => ({ mcp: "undo", input: { action: newestIn(answers[2] ?? "") } }),
    ]);
    expect(results[3]).toContain("hello.txt");
    expect(project.read("hello.txt")).toBe("hello v1\nsecond line\n");
    expect(actionsOf(project).map((action) => action["tool_call"])).toEqual(["call_0000", "call_0001"]);
    expect(project.chronicle("verify")).toMatchObject({ ok: true });
  });
});

describe.runIf(present.includes(claudeProgram))("the plugin of Claude Code", () => {
  it("has hooks and an MCP server that work if only the command is on the path", async () => {
    const bin = mkdtempSync(join(tmpdir(), "chronicle-bin-"));
    symlinkSync(chronicleBin(), join(bin, "chronicle"));
    const withPlugin: AgentProgram = {
      ...claudeProgram,
      arguments: (prompt, url) => ["--plugin-dir", PLUGIN, ...claudeProgram.arguments(prompt, url), ALLOWED],
      environment: (url) => ({
        ...claudeProgram.environment(url),
        CHRONICLE_DIRECT: "1",
        PATH: `${bin}:${dirname(process.execPath)}:/usr/bin:/bin`,
      }),
      toCall: (step, folder) =>
        "mcp" in step ? { name: `${ALLOWED}__${step.mcp}`, input: step.input } : claudeProgram.toCall(step, folder),
    };
    await using project = new AgentProject(claudeProgram);
    const { results } = await project.session(withPlugin, [
      { write: "a.txt", content: "one\n" },
      { shell: "echo two >> a.txt" },
      { mcp: "undo", input: { action: "call_0001" } },
    ]);
    expect(results[2]).toContain("a.txt");
    expect(project.read("a.txt")).toBe("one\n");
    expect(actionsOf(project)).toMatchObject([
      { tool_call: "call_0000", state: "done", changed: 1 },
      { tool_call: "call_0001", state: "done", changed: 1 },
    ]);
    rmSync(bin, { recursive: true });
  });
});

describe.each(present)("$name, when tools fail", (program) => {
  it("the changes of a failed call belong to that call, and no action stays open", async () => {
    await using project = makeProject(program);
    const before = project.copy("before");
    const patch = "*** Begin Patch\n*** Add File: patched.txt\n+by a patch\n*** End Patch";
    // Codex handles this line itself, and never reports its end. For the other agents, it is a command that fails.
    const own =
      program.name === "codex" ? `apply_patch <<'EOF'\n${patch}\nEOF` : "echo by a patch > patched.txt; exit 3";
    await project.session(program, [
      { shell: own },
      { shell: "echo half > half.txt; false" },
      { edit: "tracked.txt", from: "not there", to: "anything" },
      { write: "whole.txt", content: "whole\n" },
    ]);
    const actions = actionsOf(project);
    expect(actions.filter((action) => action["state"] === "open")).toEqual([]);
    const changing = actions.filter((action) => action["changed"] !== 0);
    // The end of Codex's patch was not reported. It counts as done because its files were changed.
    expect(changing.map((action) => action["state"])).toEqual(
      program.name === "codex" ? ["done", "done", "done"] : ["failed", "failed", "done"],
    );
    expect(changing.map((action) => changedBy(project, action))).toEqual([
      ["patched.txt"],
      ["half.txt"],
      ["whole.txt"],
    ]);
    project.chronicle("undo", "--session", String(actions[0]?.["session"]));
    expect(project.differences(before)).toBe("");
  });
});

describe.each(present)("$name, when nothing can be recorded", (program) => {
  it("with --strict, no tool runs; without it, the tools run unrecorded", async () => {
    await using strict = new AgentProject(program);
    strict.install("--strict");
    strict.commit();
    await strict.breakStore();
    await strict.attempt(program, [{ write: "a.txt", content: "a\n" }, { shell: "echo b > b.txt" }]);
    expect(existsSync(join(strict.folder, "a.txt"))).toBe(false);
    expect(existsSync(join(strict.folder, "b.txt"))).toBe(false);

    await using usual = new AgentProject(program);
    usual.install();
    usual.commit();
    await usual.breakStore();
    await usual.session(program, [{ write: "a.txt", content: "a\n" }, { shell: "echo b > b.txt" }]);
    expect([usual.read("a.txt"), usual.read("b.txt")]).toEqual(["a\n", "b\n"]);
  });
});

describe.each(present)("$name, when Chronicle was removed but its hooks are left", (program) => {
  it("the agent works if the package is gone, but runs no tool if a strict hook's script is gone, too", async () => {
    await using left = new AgentProject(program);
    left.install("--strict");
    left.lose("package");
    const told = await left.session(program, [{ write: "a.txt", content: "a\n" }, { shell: "echo b > b.txt" }]);
    expect([left.read("a.txt"), left.read("b.txt")]).toEqual(["a\n", "b\n"]);
    // The JSON of `codex exec` has no messages of hooks.
    const said = program === clineProgram ? told.requests.join("") : `${told.stdout}${told.stderr}`;
    if (program !== codexProgram) expect(said).toContain("Chronicle was uninstalled");

    left.lose("script");
    // The prompt is taken, each tool is refused, and the turn ends. Cline ends the turn at the first of them.
    const { exitCode, results } = await left.attempt(program, [
      { shell: "echo c > c.txt" },
      { shell: "echo d > d.txt" },
    ]);
    expect(exitCode).toBe(0);
    expect(results).toHaveLength(program === clineProgram ? 0 : 2);
    expect([existsSync(join(left.folder, "c.txt")), existsSync(join(left.folder, "d.txt"))]).toEqual([false, false]);
  });
});

describe.runIf(present.includes(copilotProgram))("Copilot CLI", () => {
  it("that also finds the hooks of Claude Code in the project is recorded once, as itself", async () => {
    await using project = new AgentProject(copilotProgram);
    for (const name of ["claude", "copilot"]) project.chronicle("agents", "install", name, "--project", "--strict");
    const steps: Step[] = [{ write: "a.txt", content: "a\n" }, { shell: "echo b > b.txt" }];
    const { stdout } = await project.session(copilotProgram, steps);
    expect(stdout).not.toContain("Chronicle");
    expect(actionsOf(project).map(({ actor, action_summary, changed }) => [actor, action_summary, changed])).toEqual([
      ["copilot", "write_file: a.txt", 1],
      ["copilot", "run_command: echo b > b.txt", 1],
    ]);
    const turns = asObjects(project.chronicle("turns"));
    expect(turns.map((turn) => [turn["actor"], turn["actions"]])).toEqual([["copilot", 2]]);
  });

  it("runs its tools, and says that nothing is recorded, if the script of a hook without --strict is gone", async () => {
    await using project = new AgentProject(copilotProgram);
    project.install();
    project.lose("script");
    const { stdout } = await project.session(copilotProgram, [{ write: "a.txt", content: "a\n" }]);
    expect(project.read("a.txt")).toBe("a\n");
    expect(stdout).toContain("Chronicle: its hook failed, and this step is not recorded");
  });
});

describe.runIf(present.includes(codexProgram))("an agent and a human", () => {
  it("a human's edit between two edits of the agent survives the undo of both", async () => {
    await using project = makeProject(codexProgram);
    const lines = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    const text = (changed: Readonly<Record<string, string>>): string =>
      `${lines.map((line) => changed[line] ?? line).join("\n")}\n`;
    await project.session(codexProgram, [
      { write: "poem.txt", content: text({}) },
      { edit: "poem.txt", from: "one", to: "ONE" },
      () => {
        project.write("poem.txt", project.read("poem.txt").replace("five", "by hand"));
        return { edit: "poem.txt", from: "nine", to: "NINE" };
      },
    ]);
    expect(project.read("poem.txt")).toBe(text({ one: "ONE", five: "by hand", nine: "NINE" }));
    project.chronicle("undo", "--action", "call_0001");
    expect(project.read("poem.txt")).toBe(text({ five: "by hand", nine: "NINE" }));
    project.chronicle("undo", "--action", "call_0002");
    expect(project.read("poem.txt")).toBe(text({ five: "by hand" }));
  });
});

describe.runIf(present.includes(claudeProgram) && present.includes(codexProgram))("two agents in one folder", () => {
  it("undoing the work of one agent keeps the work that the other did at the same time", async () => {
    await using project = makeProject(claudeProgram, codexProgram);
    const steps = (name: string): Step[] => [
      { write: `${name}.txt`, content: `${name} v1\n` },
      { edit: `${name}.txt`, from: `${name} v1`, to: `${name} v2` },
      { write: `${name}-more.txt`, content: "more\n" },
    ];
    await Promise.all([project.session(claudeProgram, steps("claude")), project.session(codexProgram, steps("codex"))]);
    expect(actionsOf(project)).toHaveLength(6);
    const before = project.copy("both");
    project.chronicle("undo", "--actor", "claude");
    expect(project.differences(before).trim().split("\n")).toEqual([
      `Only in ${before}: claude-more.txt`,
      `Only in ${before}: claude.txt`,
    ]);
    expect(project.chronicle("verify")).toMatchObject({ ok: true });
  });
});

describe.runIf(present.includes(clineProgram))("two sessions of one agent at once", () => {
  it("are told apart: the work of one is undone, and that of the other stays", async () => {
    await using project = makeProject(clineProgram);
    const begun = Promise.withResolvers<void>();
    const first = project.session(clineProgram, [
      () => {
        begun.resolve();
        return { write: "one.txt", content: "one\n" };
      },
      { shell: "until [ -e two.txt ]; do sleep 0.1; done; echo more >> one.txt" },
    ]);
    await Promise.race([begun.promise, first]);
    await Promise.all([
      first,
      project.session(clineProgram, [
        { write: "two.txt", content: "two\n" },
        { edit: "two.txt", from: "two", to: "2" },
      ]),
    ]);
    const actions = actionsOf(project);
    const [one, two] = ["one.txt", "two.txt"].map((path) =>
      actions.filter((action) => changedBy(project, action).includes(path)),
    );
    const sessions = [one, two].map((work) => [...new Set(work?.map((action) => action["session"]))]);
    expect([one?.length, two?.length, sessions.flat().length, new Set(sessions.flat()).size]).toEqual([2, 2, 2, 2]);
    expect(asObjects(project.chronicle("turns")).map((turn) => turn["actions"])).toEqual([2, 2]);
    expect(project.said("status")).not.toContain("without reporting its end");
    project.chronicle("undo", "--session", String(sessions[0]?.[0]));
    expect([existsSync(join(project.folder, "one.txt")), project.read("two.txt")]).toEqual([false, "2\n"]);
  });
});

/** The first id in a list of actions, newest first. */
function newestIn(list: string): string {
  const [, inText, inData] = /([0-9a-f]{8})  \d{4}-|"id":"([0-9a-f]{8})"/.exec(list) ?? [];
  const id = inText ?? inData;
  if (id === undefined) throw new Error(`no id of an action in: ${list}`);
  return id;
}
