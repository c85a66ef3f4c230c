import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { AGENT_CONFIGS } from "../../src/cli/agents/agent-table.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { type Agent, filledIn, REFUSED, TAKEN } from "../helpers/agent-files.ts";

/**
 * Chronicle reads each agent's settings file as that agent does. A file that the agent would ignore is refused, or
 * reported.
 */

function fileOf(agent: Agent): string {
  return {
    claude: "home/.claude/settings.json",
    codex: "home/.codex/hooks.json",
    gemini: "home/.gemini/settings.json",
    copilot: "home/.copilot/hooks/chronicle.json",
  }[agent];
}

/** Writes what Codex notes when its user accepts hooks. Codex skips hooks that are not accepted. */
function accept(box: Sandbox, agent: Agent): void {
  if (agent !== "codex") return;
  const file = join(box.folder, fileOf(agent));
  const { hooks } = JSON.parse(readFileSync(file, "utf8")) as { hooks: Record<string, unknown[]> };
  const noted = Object.entries(hooks).flatMap(([event, groups]) => {
    const name = event.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
    return Array.isArray(groups)
      ? groups.map((_, n) => `[hooks.state.${JSON.stringify(`${file}:${name}:${n}:0`)}]\ntrusted_hash = "sha256:x"\n`)
      : [];
  });
  appendFileSync(join(dirname(file), "config.toml"), noted.join(""));
}

function put(box: Sandbox, path: string, bytes: string | Uint8Array): string {
  const full = join(box.folder, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, bytes);
  return full;
}

describe("Truth 22: agents' settings, installing", () => {
  it.each(REFUSED)("%s: refuses %s, with the line, and writes nothing", async (...row) => {
    const [agent, , template, line, words] = row;
    const text = filledIn(template);
    using box = new Sandbox();
    const file = put(box, fileOf(agent), text);
    const ran = await box.call(["agents", "install", agent]);
    expect(ran.code).not.toBe(0);
    expect(ran.stderr).toContain(`${file}, line ${line}: `);
    expect(ran.stderr).toMatch(words);
    expect(ran.stderr).toMatch(/then install again; nothing was written/);
    expect(readFileSync(file, "utf8")).toBe(text);
    expect(existsSync(`${file}.before-chronicle`)).toBe(false);
    expect(existsSync(join(box.folder, "config/chronicle/bin"))).toBe(false);
  });

  it.each(TAKEN)("%s: takes %s, and leaves it as it is", async (agent, _name, template) => {
    const text = filledIn(template);
    using box = new Sandbox();
    const file = put(box, fileOf(agent), text);
    await box.must(["agents", "install", agent]);
    accept(box, agent);
    expect((await box.must(["agents", "status", agent, "--user"])).stdout).not.toMatch(/NOT ACTIVE|BAD/);
    await box.must(["agents", "uninstall", agent]);
    const squeezed = (all: string): string => all.replaceAll(/\s/g, "");
    expect(squeezed(readFileSync(file, "utf8"))).toBe(squeezed(text));
  });

  it("install needs a name; uninstall without a name means all agents that have hooks", async () => {
    using box = new Sandbox();
    expect(await box.call(["agents", "install"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("which agent?"),
    });
    for (const what of ["install", "uninstall", "test", "status"])
      expect(await box.call(["agents", what, "claude", "--project", "--user"])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("--project or --user, not both"),
      });
    const none = await box.call(["agents", "test", "--project"]);
    expect([none.code, none.stderr]).toEqual([
      3,
      expect.stringMatching(/no agent has hooks of Chronicle \(project\)\n.*install claude\|codex\|\S+ --project/),
    ]);
    const mine = put(box, fileOf("codex"), '{"hooks":{}}\n');
    await box.must(["agents", "install", "claude", "gemini"]);
    const { stdout } = await box.must(["agents", "uninstall"]);
    expect(stdout).toMatch(
      /^Claude Code: 4 files changed\n.*^Codex.*: is not installed; nothing to change\n.*^Gemini CLI: /ms,
    );
    expect(existsSync(join(box.folder, fileOf("claude")))).toBe(false);
    expect(existsSync(join(box.folder, fileOf("gemini")))).toBe(false);
    expect(readFileSync(mine, "utf8")).toBe('{"hooks":{}}\n');
    expect((await box.must(["agents", "uninstall"])).stdout.match(/nothing to change/g)).toHaveLength(
      AGENT_CONFIGS.length,
    );
  });

  it("refuses a file in which a name on the way to its entries stands twice", async () => {
    for (const what of ["install", "uninstall"]) {
      using box = new Sandbox();
      const mine = `{"hooks": [{"type": "command", "command": "mine"}]}`;
      const ours = `{"hooks": [{"type": "command", "command": "/c/chronicle-hook claude"}]}`;
      const text = `{"hooks": {"Stop": [${mine}]},\n"hooks": {"Stop": [${ours}]}}`;
      const file = put(box, fileOf("claude"), text);
      const ran = await box.call(["agents", what, "claude"]);
      expect(ran.code).not.toBe(0);
      expect(ran.stderr).toContain('"hooks" occurs more than once in one object, in lines 1 and 2');
      expect(readFileSync(file, "utf8")).toBe(text);
    }
  });

  it("refuses files of MCP servers in the same way, and says what Claude Code does with each", async () => {
    for (const [path, more, does] of [
      ["home/.claude.json", [], "does not start with this file"],
      ["project/.mcp.json", ["--project"], "ignores the whole file"],
    ] as const) {
      using box = new Sandbox();
      const file = put(box, path, '{\n  // mine\n  "mcpServers": {}\n}\n');
      const ran = await box.call(["agents", "install", "claude", ...more]);
      expect(ran.code).not.toBe(0);
      expect(ran.stderr).toContain(`Claude Code ${does}: ${file}, line 2: a comment`);
      expect(existsSync(join(dirname(file), ".claude"))).toBe(false);
    }
  });

  it("refuses a file that is not UTF-8", async () => {
    using box = new Sandbox();
    const bytes = Buffer.from([...Buffer.from('{"a": "'), 0xe9, ...Buffer.from('"}')]);
    const file = put(box, fileOf("claude"), bytes);
    const ran = await box.call(["agents", "install", "claude"]);
    expect(ran.code).not.toBe(0);
    expect(ran.stderr).toMatch(/settings\.json: the file is not UTF-8/);
    expect(readFileSync(file).equals(bytes)).toBe(true);
  });
});

interface Status {
  readonly agents: readonly { readonly active: boolean; readonly problems: readonly { readonly what: string }[] }[];
}

describe("Truth 22: agents' settings that were spoiled later", () => {
  const spoilt: readonly (readonly [Agent, (text: string) => string, RegExp])[] = [
    ["claude", (text) => `// mine\n${text}`, /Claude Code ignores the whole file: .*settings\.json, line 1: a comment/],
    ["codex", (text) => text.replace("{", '{\n"$schema": "x",'), /Codex ignores the whole file: .*, line 2: \$schema/],
    ["gemini", (text) => text.replace(/\}\s*$/, ",}"), /Gemini CLI does not accept this file as it is: .*comma before/],
  ];

  it.each(spoilt)("%s: status, doctor and agents status say that nothing is recorded", async (agent, spoil, words) => {
    using box = new Sandbox();
    await box.must(["init"]);
    await box.must(["agents", "install", agent, "--strict"]);
    accept(box, agent);
    expect((await box.must(["status"])).stdout).not.toContain("unrecorded");
    const file = join(box.folder, fileOf(agent));
    writeFileSync(file, spoil(readFileSync(file, "utf8")));

    const told = await box.call(["agents", "status", agent, "--user"]);
    expect(told.code).toBe(1);
    expect(told.stdout).toMatch(/installed, NOT ACTIVE/);
    expect(told.stdout).toMatch(words);
    const { value } = await box.json(["agents", "status", agent, "--user"]);
    expect((value as Status).agents[0]).toMatchObject({ active: false });
    const doctor = await box.call(["doctor"]);
    expect(doctor.code).not.toBe(0);
    expect(doctor.stdout).toMatch(words);
    const status = await box.must(["status"]);
    expect(status.stdout).toMatch(/may work unrecorded/);
    expect(status.stdout).toMatch(words);
    expect((await box.json(["status"])).value).toMatchObject({ notes: [expect.stringMatching(words)] });
    // Chronicle's hooks can be removed even from a file that the agent ignores.
    await box.must(["agents", "uninstall", agent]);
  });

  it("status reports a variable of an agent that is no absolute path, and does not fail", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    expect((await box.must(["status"], { env: { CODEX_HOME: "relative" } })).stdout).toMatch(
      /Codex may work unrecorded: .*CODEX_HOME/,
    );
  });

  it("status reports hooks that Codex skips because they are not accepted or are switched off", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    await box.must(["agents", "install", "codex"]);
    const words = /Codex skips hooks in .*hooks\.json that are not accepted, or are switched off: .*PreToolUse/;
    expect((await box.call(["agents", "status", "codex", "--user"])).stdout).toMatch(words);
    expect((await box.must(["status"])).stdout).toMatch(words);
    accept(box, "codex");
    expect((await box.must(["status"])).stdout).not.toContain("unrecorded");
    const config = join(box.folder, "home/.codex/config.toml");
    const [first = "", rest = ""] = readFileSync(config, "utf8").split(/(?<=pre_tool_use:0:0"\]\n)/);
    writeFileSync(config, `${first}enabled = false\n${rest}`);
    expect((await box.must(["status"])).stdout).toMatch(/are not accepted, or are switched off: PreToolUse \(/);
    writeFileSync(config, "no = = toml\n");
    expect((await box.must(["status"])).stdout).toMatch(words);
    // Hooks that are called count as accepted, whatever Codex notes.
    const later = new Date(Date.now() + 60_000).toISOString();
    mkdirSync(join(box.store, "run"), { recursive: true, mode: 0o700 });
    writeFileSync(
      join(box.store, "run", "last-codex.json"),
      JSON.stringify({ at: later, event: "before", version: "1" }),
    );
    expect((await box.must(["status"])).stdout).not.toContain("unrecorded");
  });

  it("a settings file that Claude Code ignores does not switch hooks off", async () => {
    using box = new Sandbox();
    await box.must(["agents", "install", "claude"]);
    put(box, "project/.claude/settings.local.json", '{"disableAllHooks": true} // not now');
    expect((await box.must(["agents", "status", "claude", "--user"])).stdout).not.toContain("NOT ACTIVE");
    put(box, "project/.claude/settings.local.json", '{"disableAllHooks": true}');
    expect((await box.call(["agents", "status", "claude", "--user"])).stdout).toContain("NOT ACTIVE");
  });

  it("--strict in hooks that do not run before a tool is reported, and a new install corrects it", async () => {
    using box = new Sandbox();
    await box.must(["agents", "install", "claude", "--strict"]);
    expect((await box.must(["agents", "status", "claude", "--user"])).stdout).toContain("strict");
    const file = join(box.folder, fileOf("claude"));
    const plain = readFileSync(file, "utf8");
    writeFileSync(
      file,
      plain.replaceAll('chronicle-hook claude || exit 1"', 'chronicle-hook claude --strict || exit 2"'),
    );
    const { stdout } = await box.call(["agents", "status", "claude", "--user"]);
    expect(stdout).toMatch(/--strict in hooks that are not before a tool: .*Stop/);
    expect(stdout).not.toContain("NOT ACTIVE");
    await box.must(["agents", "install", "claude", "--strict"]);
    expect(readFileSync(file, "utf8")).toBe(plain);
  });
});
