/**
 * The real agent programs, offline, with the settings of `test/helpers/agent-files.ts`: a hook runs exactly if
 * Chronicle judges that the agent accepts the file.
 */
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Agent, filledIn, REFUSED, TAKEN } from "../helpers/agent-files.ts";
import { claudeProgram } from "./claude-program.ts";
import { codexProgram } from "./codex-program.ts";
import { copilotProgram } from "./copilot-program.ts";
import { geminiProgram } from "./gemini-program.ts";
import { agentModules, isInstalled } from "./installed-agents.ts";
import { runAgent } from "./run-agent.ts";

const PROGRAMS = { claude: claudeProgram, codex: codexProgram, gemini: geminiProgram, copilot: copilotProgram };
const FILES = {
  claude: ".claude/settings.json",
  codex: ".codex/hooks.json",
  gemini: ".gemini/settings.json",
  copilot: ".github/hooks/mine.json",
};

/** Returns true if a hook before a tool runs when the project has these settings. */
async function hookRuns(agent: Agent, template: string): Promise<boolean> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-settings-")));
  const [home, folder, mark] = [join(base, "home"), join(base, "project"), join(base, "ran")];
  const program = PROGRAMS[agent];
  try {
    for (const made of [home, folder]) mkdirSync(made);
    program.prepare({ home, folder });
    const hook = agent === "gemini" ? { event: "BeforeTool", echo: "{}" } : { event: "PreToolUse", echo: "" };
    const command = `touch ${mark}; echo '${hook.echo}'`;
    const file = join(folder, FILES[agent]);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, filledIn(template, { event: hook.event, command, isListed: agent === "copilot" }));
    await runAgent({ program, nodeModules: agentModules, home, folder, steps: [{ shell: "true" }], limitMs: 300_000 });
    return existsSync(mark);
  } finally {
    rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  }
}

const cases = [
  ...REFUSED.map(([agent, name, text]) => ({ agent, name, text, runs: false })),
  ...TAKEN.map(([agent, name, text]) => ({ agent, name, text, runs: true })),
];
const present = cases.filter(({ agent }) => isInstalled(PROGRAMS[agent]));

describe.runIf(present.length > 0)("a hook in an agent's settings", { timeout: 400_000 }, () => {
  it.each(present)("$agent, with $name: runs: $runs", async ({ agent, text, runs }) => {
    expect(await hookRuns(agent, text)).toBe(runs);
  });
});
