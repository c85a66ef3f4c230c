import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

/** The hooks of agents refuse shell lines that would erase what Chronicle holds, before the tool runs. */

interface Agent {
  readonly name: string;
  /** What the agent writes on the stdin of its hook before it runs a shell line. */
  readonly call: (cwd: string, line: string) => object;
  /** Returns the reason in the hook's answer if the hook refuses the tool. */
  readonly reason: (answer: unknown) => string | undefined;
}

const common = (cwd: string): object => ({ session_id: "s-1", cwd, transcript_path: "/t", permission_mode: "default" });

/** Returns the reason of a refusal in the form that Claude Code and Codex have in common. */
function denied(answer: unknown): string | undefined {
  const { hookSpecificOutput: said } = answer as { hookSpecificOutput?: Record<string, string> };
  return said?.["permissionDecision"] === "deny" ? said["permissionDecisionReason"] : undefined;
}

const AGENTS: readonly Agent[] = [
  {
    name: "claude",
    call: (cwd, command) => ({
      ...common(cwd),
      ...{ hook_event_name: "PreToolUse", tool_name: "Bash", tool_input: { command }, tool_use_id: "t-1" },
    }),
    reason: denied,
  },
  {
    name: "codex",
    call: (cwd, cmd) => ({
      ...common(cwd),
      ...{ hook_event_name: "PreToolUse", tool_name: "exec_command", tool_input: { cmd }, tool_use_id: "t-1" },
    }),
    reason: denied,
  },
  {
    name: "gemini",
    call: (cwd, command) => ({
      ...{ session_id: "s-1", cwd, timestamp: "2030-01-01T00:00:00Z" },
      ...{ hook_event_name: "BeforeTool", tool_name: "run_shell_command", tool_input: { command } },
    }),
    reason: (answer) => {
      const { decision, reason } = answer as { decision?: string; reason?: string };
      return decision === "deny" ? reason : undefined;
    },
  },
];

describe.each(AGENTS)("Truth 19: the hook of $name", { timeout: 600_000 }, ({ name, call, reason }) => {
  /** Returns the reason for which the hook refuses the line, or `undefined` if the line may run. */
  function toldOf(box: Sandbox, line: string): string | undefined {
    const ran = box.run(["hook", name, "--direct"], { input: JSON.stringify(call(box.project, line)) });
    expect([line, ran.code]).toEqual([line, 0]);
    return ran.stdout.trim() === "" ? undefined : reason(JSON.parse(ran.stdout));
  }

  it("refuses a line that would erase, in any spelling, and says why", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    await box.must(["init"]);
    for (const line of [
      "chronicle forget 01JD -y",
      "cd /tmp && env -u CHRONICLE_ROLE /usr/bin/chronicle 'forget' 01JD -y",
      "bash -c 'C=chronicle; $C prune --keep-last 0 -y'",
      "npx @chronicle-dev/chronicle agents uninstall claude",
      'rm -rf "$CHRONICLE_HOME"',
      `rm -rf ${box.store}/workspaces`,
      `cd ${join(box.folder, "config")} && rm -rf chronicle`,
    ])
      expect([line, toldOf(box, line)]).toEqual([line, expect.stringContaining("an agent may not do this")]);
    // No action was begun for these lines.
    expect((await box.json(["actions"])).value).toEqual([]);
  });

  it("lets other lines pass, including those that it cannot understand", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    await box.must(["init"]);
    for (const line of ["rm a.txt", "chronicle list", "$(cat line)", "echo 'chronicle forget x'", "'"])
      expect([line, toldOf(box, line)]).toEqual([line, undefined]);
    expect(existsSync(box.store)).toBe(true);
  });
});
