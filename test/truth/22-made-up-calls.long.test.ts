import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AgentHome } from "../helpers/agent-home.ts";

/** Calls that Chronicle makes up do not show whether an agent calls its hooks. */

interface Status {
  readonly agents: readonly { readonly last_call: string | null }[];
}
interface Tests {
  readonly tests: readonly { readonly ok: boolean; readonly detail: string }[];
}

function lastCall(home: AgentHome): string | null | undefined {
  return (home.json("agents", "status", "claude", "--user") as Status).agents[0]?.last_call;
}

const SETTINGS = "home/.claude/settings.json";

describe("Truth 22: made-up calls", { timeout: 300_000 }, () => {
  it("do not count as calls of the agent, with and without the long-lived process; its own calls do", async () => {
    await using home = new AgentHome();
    home.must("agents", "install", "claude");
    const command = home.hookCommand(SETTINGS, "PreToolUse");
    for (const how of ["the first has no process to ask", "this one may have"]) {
      expect((home.json("agents", "test", "claude") as Tests).tests, how).toMatchObject([{ ok: true }]);
      expect(lastCall(home), how).toBeNull();
    }
    // Without a name, the installed agents are tested.
    expect((home.json("agents", "test") as Tests).tests).toMatchObject([{ agent: "claude", ok: true }]);
    // A call that no agent makes does not count, either.
    expect(home.fire(command, "PreToolUse", { session_id: 5 }).code).toBe(0);
    expect(lastCall(home)).toBeNull();
    expect(home.fire(command, "PreToolUse").code).toBe(0);
    expect(lastCall(home)).toMatch(/^\d{4}-/);
  });

  it("do not let the test of an agent pass if the agent does not call its hooks", async () => {
    await using home = new AgentHome();
    home.must("agents", "install", "claude", "--strict");
    const file = join(home.base, SETTINGS);
    writeFileSync(file, `// mine\n${readFileSync(file, "utf8")}`);
    const ran = home.chronicle("agents", "test", "claude");
    expect(ran.code).toBe(1);
    expect(ran.out).toMatch(/BAD claude: the hook works, but Claude Code does not call it .*line 1: a comment/);
    // The MCP server, which the agent starts all the same, tells the agent.
    const hello = {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "claude-code", version: "2" },
    };
    const input = `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: hello })}\n`;
    const answer = JSON.parse(home.chronicleWith(input, "mcp").out) as { result: { instructions: string } };
    expect(answer.result.instructions).toMatch(/Tell the person: Claude Code may work unrecorded: .*line 1: a comment/);
  });
});
