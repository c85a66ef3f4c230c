import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { whoAnswers } from "../../src/daemon/ask-server.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { Project } from "../helpers/project.ts";

/**
 * A process that works for an agent cannot erase or re-arrange what Chronicle holds of that work. A person's commands
 * can.
 */

const VERSION = (JSON.parse(readFileSync("package.json", "utf8")) as { version: string }).version;
const REFUSED = "an agent may not do this";

/** A sandbox with a history of two snapshots, and the id of its workspace. */
async function recorded(): Promise<{ readonly box: Sandbox; readonly id: string }> {
  const box = new Sandbox();
  box.write("a.txt", "one\n");
  await box.must(["init"]);
  box.write("a.txt", "two\n");
  await box.must(["snapshot"]);
  const [only] = (await box.json(["workspaces"])).value as { id: string }[];
  return { box, id: only?.id ?? "" };
}

/** Command lines that only a person may give. */
function personsLines(id: string): readonly (readonly string[])[] {
  return [
    ["forget", id, "-y"],
    ["prune", "--keep-last", "0", "-y"],
    ["erase", "a.txt", "-y"],
    ["unerase", "0"],
    ["gc"],
    ["compact", "--drop-archive", "-y"],
    ["compact"],
    ["rebuild"],
    ["pin", "0"],
    ["unpin", "0"],
    ["config", "maxBytes", "1"],
    ["config", "excludePatterns", "--clear"],
    ["head", "--accept", "-y"],
    ["init", "--exclude", "*"],
    ["init", "--force"],
    ["init", "--adopt", id, "../other"],
    ["workspaces", "archive", id],
    ["verify", "--repair-from", "."],
    ["agents", "uninstall", "claude"],
    ["agents", "install", "claude"],
    ["token", "create", "--role", "operator"],
    ["token", "revoke", "0123"],
    ["watch", "--install", "."],
    ["watch", "--uninstall", "."],
  ];
}

/**
 * Writes a script that runs the command lines one after the other, and prints the exit code and output of each. Returns
 * its path.
 */
function scriptOf(box: Sandbox, lines: readonly (readonly string[])[]): string {
  const file = join(box.folder, "give.mjs");
  writeFileSync(
    file,
    `import { spawnSync } from "node:child_process";
const [node, ...first] = ${JSON.stringify(box.command)};
for (const line of ${JSON.stringify(lines)}) {
  const { status, stdout, stderr } = spawnSync(node, [...first, ...line], { encoding: "utf8" });
  console.log(JSON.stringify({ line: line.join(" "), code: status, text: stdout + stderr }));
}
`,
  );
  return file;
}

interface Given {
  readonly line: string;
  readonly code: number;
  readonly text: string;
}

function givenIn(stdout: string): Given[] {
  return stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Given);
}

describe("Truth 19: a process under `run` has the agent's role", { timeout: 600_000 }, () => {
  it("and cannot erase, free or re-arrange a history, or switch recording off, by any command", async () => {
    const { box, id } = await recorded();
    using _box = box;
    mkdirSync(join(box.folder, "other"));
    mkdirSync(join(box.folder, "home", ".claude"), { recursive: true });
    const settings = join(box.folder, "home", ".claude", "settings.json");
    await box.must(["agents", "install", "claude"]);
    const installed = readFileSync(settings, "utf8");

    const lines = personsLines(id);
    const ran = box.run(["run", "--", process.execPath, scriptOf(box, lines)]);
    const given = givenIn(ran.stdout);
    expect(given.map(({ line, code }) => [line, code])).toEqual(lines.map((line) => [line.join(" "), 6]));
    for (const { text } of given) expect(text).toContain(REFUSED);

    expect(readFileSync(settings, "utf8")).toBe(installed);
    expect((await box.json(["workspaces"])).value).toMatchObject([{ id, present: true }]);
    const attempts = (await box.must(["log", "--json", "--prefix", "refused:"])).stdout.match(/"what":"[^"]+"/g);
    for (const what of ["forget", "prune", "gc", "compact", "rebuild", "configure", "acceptHead", "init --adopt"])
      expect(attempts).toContain(`"what":"${what}"`);
    expect((await box.must(["verify"])).stdout).toContain("ok");
  });

  it("and cannot do so off the record, either", async () => {
    const { box, id } = await recorded();
    using _box = box;
    const lines = [["forget", id, "-y"], ["gc"]];
    const ran = box.run(["run", "--otr", "--", process.execPath, scriptOf(box, lines)]);
    expect(givenIn(ran.stdout).map(({ code }) => code)).toEqual([6, 6]);
  });

  it("and cannot do so with a cleared environment, as long as it is a child of the run", async () => {
    const { box, id } = await recorded();
    using _box = box;
    const words = box.command.join(" ");
    const [home, config] = [join(box.folder, "home"), join(box.folder, "config")];
    const clear = `env -i CI=true HOME=${home} XDG_CONFIG_HOME=${config} CHRONICLE_HOME=${box.store} ${words}`;
    const lines = [
      `forget ${id} -y`,
      ...["snapshot --pin", "snapshot --accept-deletions", "snapshot --on-record a.txt"],
      "record compact",
    ];
    for (const line of lines) {
      const ran = box.run(["run", "--", "sh", "-c", `${clear} ${line}`]);
      expect([line, ran.code, ran.stderr]).toEqual([line, 6, expect.stringContaining(REFUSED)]);
    }
    expect((await box.json(["workspaces"])).value).toMatchObject([{ id }]);
    const plain = box.run(["run", "--", "sh", "-c", `${clear} snapshot && ${clear} record list`]);
    expect([plain.code, plain.stderr]).toEqual([0, expect.not.stringContaining(REFUSED)]);
  });

  it("and can read, write and undo, under its own name", async () => {
    const { box } = await recorded();
    using _box = box;
    const lines = [["list"], ["status"], ["log"], ["config"], ["verify", "--quick"], ["head"], ["agents", "status"]];
    const ran = box.run(["run", "--", process.execPath, scriptOf(box, lines)]);
    for (const { line, text } of givenIn(ran.stdout)) expect([line, text]).not.toContain(REFUSED);

    const env = { CHRONICLE_ROLE: "agent" };
    await box.must(["put", "by-agent.txt"], { env, input: "x" });
    expect((await box.json(["history", "by-agent.txt"])).value).toMatchObject([{ actor: "agent" }]);
    await box.must(["undo", "-y"], { env });
    expect(existsSync(join(box.project, "by-agent.txt"))).toBe(false);
  });

  it("and so has a terminal in which a session was begun by hand, until the session ends", async () => {
    const { box } = await recorded();
    using _box = box;
    const hook = (event: string, more = {}) => {
      const call = { hook_event_name: event, session_id: "s1", prompt_id: "t1", cwd: box.project, ...more };
      return box.run(["hook", "claude", "--direct"], { input: JSON.stringify(call) });
    };
    const tool = { tool_name: "Write", tool_use_id: "c1", tool_input: { file_path: join(box.project, "a.txt") } };
    expect(hook("PreToolUse", tool).code).toBe(0);
    expect(hook("PostToolUse", { ...tool, tool_response: { success: true } }).code).toBe(0);
    for (const line of [["config", "maxBytes", "1GiB"], ["gc"], ["agents", "install", "claude"]]) {
      const { code, stderr } = box.run(line);
      expect([line, code, stderr]).toEqual([line, 6, expect.stringContaining(REFUSED)]);
      expect(stderr).toContain(`the session s1 of claude is open, and its process ${process.pid} has started`);
      expect(stderr).toContain("reports the end of the session to its hook");
    }
    const offRecord = box.run(["run", "--otr", "--", "true"]);
    expect([offRecord.code, offRecord.stderr]).toEqual([
      125,
      expect.stringContaining("the session s1 of claude is open"),
    ]);
    expect(hook("SessionEnd").code).toBe(0);
    expect(box.run(["config", "maxBytes", "1GiB"])).toMatchObject({ code: 0 });
  });

  it("and a person's own shell has not", async () => {
    const { box, id } = await recorded();
    using _box = box;
    box.write("b.txt", "mine\n");
    await box.must(["snapshot"]);
    expect((await box.json(["history", "b.txt"])).value).toMatchObject([{ actor: "human" }]);
    for (const line of [["gc"], ["config", "maxFileSize", "1000000"], ["forget", id, "-y"]]) {
      const own = box.run(line);
      expect([line, own.code, own.stderr]).toEqual([line, 0, expect.not.stringContaining(REFUSED)]);
    }
  });
});

describe("Truth 19: a process that an agent's tool starts has the agent's role", { timeout: 600_000 }, () => {
  it("because the hooks know the agent's process, without a variable", async () => {
    const { box, id } = await recorded();
    using _box = box;
    const agent = join(box.folder, "agent.mjs");
    const lines = [
      ...[["forget", id, "-y"], ["gc"], ["agents", "uninstall", "claude"], ["snapshot", "--pin"]],
      ...[
        ["snapshot", "--accept-deletions"],
        ["record", "compact"],
      ],
      // Exit code 125: `run` fails before its command begins.
      ["run", "--otr", "--", "sh", "-c", "echo begun > begun"],
      ["list"],
    ];
    // The agent calls its hook through a shell before a tool, and starts the tool itself.
    writeFileSync(
      agent,
      `import { spawnSync } from "node:child_process";
const command = ${JSON.stringify(["exec", ...box.command, "hook", "claude", "--direct"].join(" "))};
const tool = ${JSON.stringify(`${process.execPath} ${scriptOf(box, lines)}`)};
const call = { session_id: "s-1", cwd: process.cwd(), transcript_path: "/t", permission_mode: "default",
  hook_event_name: "PreToolUse", tool_name: "Bash", tool_input: { command: tool }, tool_use_id: "t-1" };
const hook = spawnSync("sh", ["-c", command], { input: JSON.stringify(call), encoding: "utf8" });
if (hook.status !== 0) throw new Error(hook.stderr);
const ran = spawnSync("sh", ["-c", tool], { encoding: "utf8" });
console.log(ran.stdout);
`,
    );
    const ran = spawnSync(process.execPath, [agent], { cwd: box.project, env: box.env(), encoding: "utf8" });
    expect([ran.status, ran.stderr]).toEqual([0, ""]);
    const given = givenIn(ran.stdout);
    expect(given.map(({ code }) => code)).toEqual([6, 6, 6, 6, 6, 6, 125, 0]);
    for (const { line, text } of given.slice(0, -1))
      expect([line, text]).toEqual([line, expect.stringContaining(REFUSED)]);
    expect(existsSync(join(box.project, "begun"))).toBe(false);
    expect((await box.json(["workspaces"])).value).toMatchObject([{ id }]);
  });
});

describe("Truth 19: the process that hooks start", { timeout: 600_000 }, () => {
  it("serves a person with all rights, although an agent has started it", async () => {
    const { box, id } = await recorded();
    using _box = box;
    const call = {
      ...{ session_id: "s-1", cwd: box.project, transcript_path: "/t", permission_mode: "default" },
      ...{ hook_event_name: "UserPromptSubmit", prompt: "go on" },
    };
    // The hook of the installed package, so that the process that it starts is the package's, too.
    const hook = spawnSync(process.execPath, [chronicleBin(), "hook", "claude"], {
      ...{ cwd: box.project, env: box.env({ CHRONICLE_ROLE: "agent" }), encoding: "utf8" },
      input: JSON.stringify(call),
    });
    expect([hook.status, hook.stderr]).toEqual([0, ""]);
    const door = join(box.store, "run", "serve.sock");
    const started = await answering(door);
    try {
      const own = await box.call(["--remote", "unix:", "-w", id, "config", "maxFileSize", "1000000"]);
      expect([own.code, own.stderr]).toEqual([0, ""]);
      const agents = await box.call(["--remote", "unix:", "gc"], { env: { CHRONICLE_ROLE: "agent" } });
      expect([agents.code, agents.stderr]).toEqual([6, expect.stringContaining("this is for an operator")]);
    } finally {
      process.kill(started.pid);
    }
  });
});

/** Resolves to the process behind a socket once it answers. */
async function answering(door: string): Promise<{ readonly pid: number }> {
  for (const end = Date.now() + 300_000; Date.now() < end; await setTimeout(100)) {
    const there = existsSync(door) ? await whoAnswers(door, VERSION) : undefined;
    if (there !== undefined) return there;
  }
  throw new Error("no process was started");
}

describe("Truth 19: the agent's role without an actor", { timeout: 120_000 }, () => {
  it("is recorded with the actor `agent`, in every way to take the role", async () => {
    await using project = new Project();
    project.write("a.txt", "1");
    await (await project.init()).close();
    const opened = await project.open({ role: "agent" });
    await opened.putFile("one.txt", Buffer.from("1"));
    await expect(opened.gc()).rejects.toMatchObject({ code: "FORBIDDEN" });
    const { id } = opened;
    await opened.close();
    const store = await project.store();
    const byId = await store.openById(id, { role: "agent" });
    await byId.putFile("two.txt", Buffer.from("2"));
    const view = (await store.openById(id)).as({ role: "agent" });
    await view.putFile("three.txt", Buffer.from("3"));
    const agents = await project.store({ role: "agent" });
    const whole = await agents.open({ folder: project.folder });
    await whole.putFile("four.txt", Buffer.from("4"));
    for (const path of ["one.txt", "two.txt", "three.txt", "four.txt"])
      expect([path, await whole.history(path)]).toMatchObject([path, [{ actor: "agent" }]]);
    const [refused] = await whole.log({ prefix: "refused:" });
    expect(refused?.record).toMatchObject({ actor: "agent" });
  });
});
