import { spawnSync } from "node:child_process";
import { lstatSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AgentHome } from "../helpers/agent-home.ts";

/** Hooks in an agent's settings whose program is gone. */

interface Hooked {
  readonly agent: string;
  readonly file: string;
  /** The events at the beginning of a session, of a turn and of a call. */
  readonly begins: readonly [start: string, prompt: string, before: string];
  /** The events at their ends. */
  readonly ends: readonly [after: string, end: string, over: string];
  /** The exit code of the hook's command line if its script is gone. With it, the agent goes on. */
  readonly goesOn: number;
}

const CLAUDE_EVENTS = {
  begins: ["SessionStart", "UserPromptSubmit", "PreToolUse"],
  ends: ["PostToolUse", "Stop", "SessionEnd"],
} as const;

const AGENTS: readonly Hooked[] = [
  { agent: "claude", file: "home/.claude/settings.json", ...CLAUDE_EVENTS, goesOn: 1 },
  { agent: "codex", file: "home/.codex/hooks.json", ...CLAUDE_EVENTS, goesOn: 1 },
  {
    agent: "gemini",
    file: "home/.gemini/settings.json",
    begins: ["SessionStart", "BeforeAgent", "BeforeTool"],
    ends: ["AfterTool", "AfterAgent", "SessionEnd"],
    goesOn: 1,
  },
  {
    agent: "cursor",
    file: "home/.cursor/hooks.json",
    begins: ["sessionStart", "beforeSubmitPrompt", "preToolUse"],
    ends: ["postToolUse", "stop", "sessionEnd"],
    goesOn: 1,
  },
  // Copilot CLI takes each exit code but 0 as a refusal.
  { agent: "copilot", file: "home/.copilot/hooks/chronicle.json", ...CLAUDE_EVENTS, goesOn: 0 },
];

/** The message to the user, under the name that the agent has for it. */
interface Said {
  readonly systemMessage?: string;
  readonly user_message?: string;
  readonly message?: string;
}

/** Leaves the socket of a process that was killed. */
function leaveSocket(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const code = 'require("node:net").createServer().listen("serve.sock", () => process.kill(process.pid, "SIGKILL"))';
  spawnSync(process.execPath, ["-e", code], { cwd: folder });
  expect(lstatSync(join(folder, "serve.sock")).isSocket()).toBe(true);
}

function said(out: string): string | undefined {
  const { systemMessage, user_message, message } = (out === "" ? {} : JSON.parse(out)) as Said;
  return systemMessage ?? user_message ?? message;
}

describe.each(AGENTS)("Truth 22: hooks of $agent without Chronicle", { timeout: 300_000 }, (one) => {
  const { agent, file, begins, ends, goesOn } = one;
  const [start, prompt, before] = begins;
  const [, end, over] = ends;
  const plain = ["agents", "install", agent];
  const strict = [...plain, "--strict"];

  it.each([
    { how: "as usual", words: plain },
    { how: "strict", words: strict },
    { how: "behind a socket that nobody answers on", words: strict, socket: true },
  ])("after the package was uninstalled, the agent works, and is told ($how)", async ({ words, socket }) => {
    await using home = new AgentHome();
    home.must(...words);
    if (socket === true) leaveSocket(join(home.store, "run"));
    rmSync(home.package, { recursive: true });
    for (const event of begins) {
      const ran = home.fire(home.hookCommand(file, event), event);
      expect(ran.code, event).toBe(0);
      expect(said(ran.out), event).toMatch(/Chronicle was uninstalled .*nothing is recorded.*chronicle-hook/);
    }
    // One message for each step is enough.
    for (const event of ends) {
      const ran = home.fire(home.hookCommand(file, event), event);
      expect(ran.code, event).toBe(0);
      expect(said(ran.out), event).toBeUndefined();
    }
  });

  it("after its Node was removed, the agent is told; with --strict, only tools are stopped", async () => {
    await using home = new AgentHome();
    home.must(...plain);
    const open = home.hookCommand(file, before);
    home.must(...strict);
    rmSync(home.node);
    const ran = home.fire(open, before);
    expect(ran.code).toBe(0);
    expect(said(ran.out)).toContain(`the Node that runs it is gone (${home.node})`);
    const closed = home.fire(home.hookCommand(file, before), before);
    expect(closed.code).toBe(2);
    expect(closed.err).toContain(`the Node that runs it is gone (${home.node})`);
    expect(closed.err).toContain("chronicle agents install");
    for (const event of [start, prompt, end, over]) {
      expect(home.fire(home.hookCommand(file, event), event).code, event).toBe(0);
    }
    expect(said(home.fire(home.hookCommand(file, prompt), prompt).out)).toContain("is gone");
  });

  it("a hook that fails for another reason says so in a message that the agent shows", async () => {
    await using home = new AgentHome();
    home.must(...plain);
    rmSync(join(home.package, "dist"), { recursive: true });
    home.put("package/dist/hook.cjs", "process.exit(7);\n");
    const ran = home.fire(home.hookCommand(file, before), before);
    expect(ran.code).toBe(0);
    expect(said(ran.out)).toMatch(/the hook could not be run \(exit code 7\).*chronicle doctor/);
  });

  it("--strict with a hook that is gone altogether stops tools, but not prompts or the end of a turn", async () => {
    await using home = new AgentHome();
    home.must(...plain);
    const open = home.hookCommand(file, before);
    home.must(...strict);
    rmSync(home.script);
    // After exit code 1, most agents continue with a warning. Gemini CLI takes each higher code as a refusal, 127 too.
    expect(home.fire(open, before).code).toBe(goesOn);
    expect(home.fire(home.hookCommand(file, before), before).code).toBe(2);
    for (const event of [start, prompt, end, over]) {
      // Exit code 2 would refuse the prompt, and keep the agent from ever ending its turn.
      expect(home.fire(home.hookCommand(file, event), event).code, event).toBe(goesOn);
    }
  });
});

describe("Truth 22: the plugin of Claude Code without the command", () => {
  const plugin = join(import.meta.dirname, "../../plugins/claude-code/hooks/chronicle-hook");

  it("tells the user before each step that nothing is recorded, and stops nothing", async () => {
    await using home = new AgentHome();
    for (const event of ["SessionStart", "UserPromptSubmit", "PreToolUse"]) {
      const ran = home.fire(`PATH=/usr/bin:/bin '${plugin}' claude`, event);
      expect(ran.code).toBe(0);
      expect(said(ran.out)).toMatch(/nothing is recorded: the command chronicle is not installed/);
    }
    for (const event of ["PostToolUse", "Stop"]) {
      expect(home.fire(`PATH=/usr/bin:/bin '${plugin}' claude`, event)).toMatchObject({ code: 0, out: "" });
    }
  });
});
