import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parse as parseJsonc } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { describe, expect, it } from "vitest";
import type { AgentConfig, Scope } from "../../src/cli/agents/agent-config.ts";
import { AGENT_CONFIGS } from "../../src/cli/agents/agent-table.ts";
import {
  type AgentBase,
  carryOut,
  configPath,
  planInstall,
  planUninstall,
  stateOf,
} from "../../src/cli/agents/install-agent.ts";
import { ourPlaces } from "../../src/cli/agents/json-hooks.ts";

const MCP = ["/opt/node", "/opt/chronicle/bin/chronicle.js", "mcp"];

class Machine implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "chronicle-install-"));

  base(scope: Scope, env: AgentBase["env"] = {}): AgentBase {
    return { scope, env, userHome: join(this.folder, "home"), project: join(this.folder, "project") };
  }

  put(path: string, text: string): string {
    const full = join(this.folder, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
    return full;
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), "utf8");
  }

  has(path: string): boolean {
    return existsSync(join(this.folder, path));
  }

  install(
    agent: AgentConfig,
    base: AgentBase,
    hook = `/c/bin/chronicle-hook ${agent.name}`,
    hookBefore = hook,
  ): string[] {
    const plans = planInstall(agent, base, { hook, hookBefore, mcp: MCP });
    carryOut(plans);
    return plans.filter((plan) => plan.before !== plan.after).map((plan) => plan.path);
  }

  uninstall(agent: AgentConfig, base: AgentBase): void {
    carryOut(planUninstall(agent, base));
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const [claude, codex, gemini, opencode] = AGENT_CONFIGS as readonly [
  AgentConfig,
  AgentConfig,
  AgentConfig,
  AgentConfig,
];
const [cursor, copilot, cline] = ["cursor", "copilot", "cline"].map((name) =>
  AGENT_CONFIGS.find((one) => one.name === name),
) as [AgentConfig, AgentConfig, AgentConfig];

const SETTINGS = `{
    // my own settings
    "model": "opus", /* kept */
    "hooks": {
        "BeforeTool": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh"}]} // mine
        ],
        "Notification": [{"hooks": [{"type": "command", "command": "beep"}]}]
    },
    "permissions": {"allow": ["Bash(ls)"]}
}
`;

describe("installing", () => {
  it("works without existing files, for every agent and scope, and leaves no files when it is undone", () => {
    for (const agent of AGENT_CONFIGS) {
      for (const scope of ["user", "project"] as const) {
        using machine = new Machine();
        const base = machine.base(scope);
        expect(machine.install(agent, base).length, agent.name).toBe(agent.files[scope].length);
        for (const { path, found } of stateOf(agent, base)) expect(found, path).toBeDefined();
        machine.uninstall(agent, base);
        for (const { path } of stateOf(agent, base)) expect(existsSync(path), path).toBe(false);
      }
    }
  });

  it("a second time changes no byte", () => {
    for (const agent of AGENT_CONFIGS) {
      using machine = new Machine();
      const base = machine.base("user");
      machine.install(agent, base);
      const once = agent.files.user.map((file) => readFileSync(configPath(agent, file.path, base), "utf8"));
      expect(machine.install(agent, base)).toEqual([]);
      expect(agent.files.user.map((file) => readFileSync(configPath(agent, file.path, base), "utf8"))).toEqual(once);
    }
  });

  it("keeps comments, order, indentation and the entries of others, and is undone to the same bytes", () => {
    using machine = new Machine();
    machine.put("home/.gemini/settings.json", SETTINGS);
    const base = machine.base("user");
    machine.install(gemini, base);
    const text = machine.read("home/.gemini/settings.json");
    for (const line of ["// my own settings", "/* kept */", "// mine", `    "model": "opus"`])
      expect(text).toContain(line);
    const settings = parseJsonc(text) as { hooks: Record<string, { hooks: { command: string }[] }[]> };
    expect(settings.hooks["BeforeTool"]?.map((group) => group.hooks[0]?.command)).toEqual([
      "./check.sh",
      "/c/bin/chronicle-hook gemini",
    ]);
    expect(settings.hooks["Notification"]).toHaveLength(1);
    expect(machine.read("home/.gemini/settings.json.before-chronicle")).toBe(SETTINGS);
    machine.uninstall(gemini, base);
    expect(machine.read("home/.gemini/settings.json")).toBe(SETTINGS);
  });

  it("keeps the kind of line breaks, and is undone to the same settings", () => {
    const texts = [
      "{}",
      "{ }\n",
      `{"a": 1}`,
      `{\n\t"a": [1, 2]\n}\n`,
      `{\r\n  "hooks": {\r\n    "X": []\r\n  }\r\n}\r\n`,
    ];
    for (const text of texts) {
      using machine = new Machine();
      machine.put("home/.gemini/settings.json", text);
      machine.install(gemini, machine.base("user"));
      const installed = machine.read("home/.gemini/settings.json");
      expect(installed.includes("\r\n") ? installed.replaceAll("\r\n", "").includes("\n") : false, text).toBe(false);
      machine.uninstall(gemini, machine.base("user"));
      expect(parseJsonc(machine.read("home/.gemini/settings.json")), text).toEqual(parseJsonc(text));
    }
  });

  it("replaces the hooks of an older installation, and keeps the first backup of the file", () => {
    using machine = new Machine();
    machine.put("home/.gemini/settings.json", `{"ui": {"theme": "dark"}}`);
    const base = machine.base("user");
    machine.install(gemini, base, "/old/chronicle-hook gemini");
    const anew = "'/new place/chronicle-hook' gemini";
    machine.install(gemini, base, anew, `${anew} --strict || exit 2`);
    const [state] = stateOf(gemini, base);
    expect(state?.found?.hooks).toEqual([anew, `${anew} --strict || exit 2`]);
    expect(machine.read("home/.gemini/settings.json.before-chronicle")).toBe(`{"ui": {"theme": "dark"}}`);
  });

  it("is undone in a group that also has a command of the user", () => {
    using machine = new Machine();
    const hooks = [
      { type: "command", command: "mine" },
      { type: "command", command: "/c/chronicle-hook claude" },
    ];
    machine.put("home/.claude/settings.json", JSON.stringify({ hooks: { Stop: [{ hooks }] } }));
    machine.uninstall(claude, machine.base("user"));
    expect(JSON.parse(machine.read("home/.claude/settings.json"))).toEqual({
      hooks: { Stop: [{ hooks: [hooks[0]] }] },
    });
  });

  it.each([
    { type: "prompt", prompt: "is it done?" },
    { type: "http", url: "https://hooks.example" },
    { type: "agent", prompt: "check it" },
    { type: "mcp_tool", server: "s", tool: "t" },
  ])("is undone in a group that also has a hook of the user that is no command: $type", (mine) => {
    using machine = new Machine();
    const ours = { type: "command", command: "/c/chronicle-hook claude", timeout: 600 };
    const settings = { hooks: { Stop: [{ hooks: [ours, mine] }], SessionEnd: [{ hooks: [mine, ours] }] } };
    machine.put("home/.claude/settings.json", JSON.stringify(settings));
    machine.uninstall(claude, machine.base("user"));
    expect(JSON.parse(machine.read("home/.claude/settings.json"))).toEqual({
      hooks: { Stop: [{ hooks: [mine] }], SessionEnd: [{ hooks: [mine] }] },
    });
  });

  it("renews its hook once in groups that also have hooks of the user, and leaves those alone", () => {
    using machine = new Machine();
    const base = machine.base("user");
    const mine = { type: "prompt", prompt: "is it done?" };
    const old = { type: "command", command: "/old/chronicle-hook claude" };
    const anew = { type: "command", command: "/c/bin/chronicle-hook claude", timeout: 600 };
    const settings = {
      hooks: {
        Stop: [{ hooks: [mine, old] }, { hooks: [mine] }],
        PreToolUse: [{ matcher: "Bash", hooks: [old, mine] }],
        SessionEnd: [{ hooks: [old, mine] }, { hooks: [old] }, { hooks: [old] }],
      },
    };
    machine.put("home/.claude/settings.json", JSON.stringify(settings));
    machine.install(claude, base);
    expect(JSON.parse(machine.read("home/.claude/settings.json"))).toMatchObject({
      hooks: {
        Stop: [{ hooks: [mine, anew] }, { hooks: [mine] }],
        PreToolUse: [
          { matcher: "Bash", hooks: [mine] },
          { matcher: "*", hooks: [anew] },
        ],
        SessionEnd: [{ hooks: [mine] }, { hooks: [anew] }],
      },
    });
    expect(machine.install(claude, base)).toEqual([]);
  });

  it("leaves only one of its hooks in a group that also has hooks of the user", () => {
    using machine = new Machine();
    const base = machine.base("user");
    const mine = { type: "prompt", prompt: "is it done?" };
    const old = { type: "command", command: "/old/chronicle-hook claude" };
    const other = { type: "command", command: "/other/chronicle-hook claude" };
    const anew = { type: "command", command: "/c/bin/chronicle-hook claude", timeout: 600 };
    const shared = [old, mine, other, mine, old];
    machine.put("home/.claude/settings.json", JSON.stringify({ hooks: { Stop: [{ hooks: shared }] } }));
    machine.install(claude, base);
    const settings = JSON.parse(machine.read("home/.claude/settings.json")) as { hooks: { Stop: unknown } };
    expect(settings.hooks.Stop).toEqual([{ hooks: [anew, mine, mine] }]);
    expect(machine.install(claude, base)).toEqual([]);
  });

  it("knows the place of its hook among the hooks of a group", () => {
    const hooks = [
      { type: "prompt", prompt: "p" },
      { type: "command", command: "/c/chronicle-hook codex" },
    ];
    expect(ourPlaces(JSON.stringify({ hooks: { Stop: [{ hooks: [] }, { hooks }] } }))).toEqual([
      { event: "Stop", group: 1, hook: 1 },
    ]);
  });

  it("leaves a user's own server of its name alone, backs up the file, and does not count the server as its own", () => {
    const own: readonly object[] = [
      { command: "uvx", args: ["secops-mcp"], env: { KEY: "s3" } },
      { type: "http", url: "https://chronicle.example/mcp" },
      { command: "node", args: ["/home/u/chronicle/index.js", "mcp"] },
      { command: "docker", args: ["run", "-i", "chronicle", "mcp"] },
      { command: "chronicle", args: ["serve"] },
    ];
    for (const server of own) {
      for (const agent of [claude, gemini]) {
        using machine = new Machine();
        const path = agent === claude ? "home/.claude.json" : "home/.gemini/settings.json";
        const text = JSON.stringify({ mcpServers: { chronicle: server } });
        machine.put(path, text);
        const base = machine.base("user");
        const plans = planInstall(agent, base, { hook: "HOOK", hookBefore: "HOOK", mcp: MCP });
        expect(plans.filter(({ namesake }) => namesake).map((plan) => plan.path)).toEqual([join(machine.folder, path)]);
        machine.install(agent, base);
        expect(JSON.parse(machine.read(path)), text).toMatchObject({ mcpServers: { chronicle: server } });
        if (agent === gemini) expect(machine.read(`${path}.before-chronicle`)).toBe(text);
        expect(stateOf(agent, base).at(-1)?.found?.mcp).toBeUndefined();
        machine.uninstall(agent, base);
        expect(JSON.parse(machine.read(path)), text).toEqual(JSON.parse(text));
      }
    }
  });

  it("updates its own server, whatever command starts it, and keeps what the user added to it", () => {
    const forms: readonly (readonly string[])[] = [
      ["/old/node", "/old/chronicle/bin/chronicle.js", "--store", "/s", "mcp"],
      ["chronicle", "mcp"],
      ["/usr/local/bin/chronicle", "-C", "..", "mcp"],
      ["npx", "-y", "@chronicle-dev/chronicle@latest", "mcp"],
    ];
    for (const [command, ...args] of forms) {
      using machine = new Machine();
      const server = { env: { A: "b" }, command, args, timeout: 5 };
      machine.put("home/.claude.json", JSON.stringify({ mcpServers: { x: { command: "x" }, chronicle: server } }));
      const base = machine.base("user");
      machine.install(claude, base);
      expect(JSON.parse(machine.read("home/.claude.json"))).toEqual({
        mcpServers: {
          x: { command: "x" },
          chronicle: { ...server, type: "stdio", command: MCP[0], args: MCP.slice(1) },
        },
      });
      expect(machine.install(claude, base)).toEqual([]);
      machine.uninstall(claude, base);
      expect(JSON.parse(machine.read("home/.claude.json"))).toEqual({ mcpServers: { x: { command: "x" } } });
    }
  });

  it("adds a marked block to TOML, and leaves a server of the user's own alone", () => {
    using machine = new Machine();
    const mine = `# mine\nmodel = "x" # fast\n\n[mcp_servers.other]\ncommand = "o"`;
    machine.put("home/.codex/config.toml", mine);
    const base = machine.base("user");
    machine.install(codex, base);
    const text = machine.read("home/.codex/config.toml");
    expect(text.startsWith(mine)).toBe(true);
    expect(parseToml(text)["mcp_servers"]).toEqual({
      other: { command: "o" },
      chronicle: { command: MCP[0], args: MCP.slice(1) },
    });
    machine.uninstall(codex, base);
    expect(machine.read("home/.codex/config.toml")).toBe(mine);
    const own = `[mcp_servers.chronicle]\ncommand = "my own"\n`;
    machine.put("home/.codex/config.toml", own);
    machine.install(codex, base);
    expect(machine.read("home/.codex/config.toml")).toBe(own);
    expect(stateOf(codex, base).at(-1)?.found?.mcp).toBeUndefined();
  });

  it("keeps what Codex has written between the marks", () => {
    using machine = new Machine();
    const base = machine.base("user");
    const mine = `model = "x"\n`;
    machine.put("home/.codex/config.toml", mine);
    machine.install(codex, base);
    // Codex adds a table before the comment that closes the file, and keys at the end of a table.
    const theirs =
      `\n# trusted\n[hooks.state."/h/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:1"\n` +
      `\n[projects."/home/me/p"]\ntrust_level = """\n[mcp_servers.chronicle]\n# <<< chronicle\n"""\n` +
      `\n[[matrix]]\nrows = [\n  [1, 2],\n  [3]\n]\n\n[mcp_servers."chronicle.x"]\ncommand = "o" # theirs\n`;
    const added = `startup_timeout_sec = 9\n\n[mcp_servers.chronicle.env]\nA = "b"\n`;
    const once = machine.read("home/.codex/config.toml");
    machine.put("home/.codex/config.toml", once.replace("# <<< chronicle", `${added}${theirs}# <<< chronicle`));
    expect(machine.install(codex, base)).toEqual([]);
    const moved = { hook: "/n/hook", hookBefore: "/n/hook", mcp: ["/new/node", ...MCP.slice(1)] };
    carryOut(planInstall(codex, base, moved));
    const text = machine.read("home/.codex/config.toml");
    expect(text).toContain(theirs);
    expect(parseToml(text)["mcp_servers"]).toEqual({
      chronicle: { command: "/new/node", args: MCP.slice(1), startup_timeout_sec: 9, env: { A: "b" } },
      "chronicle.x": { command: "o" },
    });
    machine.uninstall(codex, base);
    expect(machine.read("home/.codex/config.toml")).toBe(`${mine}${theirs}`);
  });

  it("leaves a server that the user put between the marks, and corrects a file that has lost a mark", () => {
    using machine = new Machine();
    const base = machine.base("user");
    machine.install(codex, base);
    const once = machine.read("home/.codex/config.toml");
    const own = `[mcp_servers.chronicle]\ncommand = "my own"\n`;
    machine.put("home/.codex/config.toml", once.replace(/\[mcp_servers[^]*\]\n(?=#)/, own));
    machine.install(codex, base);
    expect(machine.read("home/.codex/config.toml")).toContain(own);
    machine.uninstall(codex, base);
    expect(machine.read("home/.codex/config.toml")).toBe(own);
    // `codex mcp remove chronicle` also removes the comment above the table.
    machine.put("home/.codex/config.toml", `model = "x"\n\n# <<< chronicle\n`);
    machine.install(codex, base);
    expect(machine.read("home/.codex/config.toml").match(/<<< chronicle/g)).toHaveLength(1);
    machine.uninstall(codex, base);
    expect(machine.read("home/.codex/config.toml")).toBe(`model = "x"\n\n`);
  });

  it("refuses files that it cannot read, and then writes nothing at all", () => {
    const bad: readonly [AgentConfig, string, string][] = [
      [claude, "home/.claude/settings.json", `{"hooks": `],
      [claude, "home/.claude/settings.json", `{"hooks": []}`],
      [claude, "home/.claude/settings.json", `{"hooks": {"PreToolUse": "x"}}`],
      [claude, "home/.claude.json", `{"mcpServers": 1}`],
      [codex, "home/.codex/config.toml", `a = = 1`],
      [codex, "home/.codex/config.toml", `mcp_servers = {}`],
      [gemini, "home/.gemini/settings.json", `[]`],
    ];
    for (const [agent, path, text] of bad) {
      using machine = new Machine();
      const full = machine.put(path, text);
      expect(() => machine.install(agent, machine.base("user")), text).toThrow(full);
      expect(machine.read(path)).toBe(text);
      for (const file of agent.files.user) {
        if (!full.endsWith(file.path)) expect(machine.has(join("home", file.path)), file.path).toBe(false);
      }
    }
  });

  it("keeps the mode of a file, and a symbolic link to it", () => {
    using machine = new Machine();
    const real = machine.put("dotfiles/claude.json", `{"projects": {}}`);
    chmodSync(real, 0o600);
    mkdirSync(join(machine.folder, "home"));
    symlinkSync(real, join(machine.folder, "home/.claude.json"));
    machine.install(claude, machine.base("user"));
    expect(lstatSync(join(machine.folder, "home/.claude.json")).isSymbolicLink()).toBe(true);
    expect(lstatSync(real).mode & 0o777).toBe(0o600);
    expect(machine.read("dotfiles/claude.json")).toContain("chronicle");
  });

  it("is undone in a file that was moved behind a link meanwhile, and leaves the link", () => {
    using machine = new Machine();
    const link = join(machine.folder, "home/.gemini/settings.json");
    machine.install(gemini, machine.base("user"));
    const real = machine.put("dotfiles/gemini.json", machine.read("home/.gemini/settings.json"));
    rmSync(link);
    symlinkSync(real, link);
    machine.uninstall(gemini, machine.base("user"));
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(JSON.parse(machine.read("dotfiles/gemini.json"))).toEqual({});
  });

  it("follows the agents' own variables for their folders", () => {
    using machine = new Machine();
    const at = (agent: AgentConfig, variable: string) =>
      agent.files.user.map((file) => configPath(agent, file.path, machine.base("user", { [variable]: "/else" })));
    const each = (path: string): string[] => ["undo", "rewind"].map((name) => path.replace("*", `chronicle-${name}`));
    expect(at(claude, "CLAUDE_CONFIG_DIR")).toEqual([
      ...["/else/settings.json", "/else/.claude.json"],
      ...each("/else/commands/*.md"),
    ]);
    expect(at(codex, "CODEX_HOME")).toEqual([
      ...["/else/hooks.json", "/else/config.toml"],
      ...each("/else/skills/*/SKILL.md"),
    ]);
    expect(at(gemini, "GEMINI_CLI_HOME")).toEqual([
      "/else/.gemini/settings.json",
      ...each("/else/.gemini/commands/*.toml"),
    ]);
  });
});

describe("the plugin of Claude Code", () => {
  const plugin = join(import.meta.dirname, "../../plugins/claude-code");
  const json = (path: string): unknown => JSON.parse(readFileSync(join(plugin, path), "utf8"));

  it("has the hooks that installing gives, the MCP server, and the package's version", () => {
    using machine = new Machine();
    machine.install(claude, machine.base("project"), "HOOK");
    const events = (value: unknown): string[] => Object.keys((value as { hooks: object }).hooks).toSorted();
    expect(events(json("hooks/hooks.json"))).toEqual(events(JSON.parse(machine.read("project/.claude/settings.json"))));
    expect(json(".mcp.json")).toEqual({
      mcpServers: { chronicle: { type: "stdio", command: "chronicle", args: ["mcp"] } },
    });
    const { version } = JSON.parse(readFileSync(join(plugin, "../../package.json"), "utf8")) as { version: string };
    expect(json(".claude-plugin/plugin.json")).toMatchObject({ name: "chronicle", version });
    expect(lstatSync(join(plugin, "hooks/chronicle-hook")).mode & 0o111).toBe(0o111);
  });
});

describe("installing for opencode", () => {
  const FILE = "project/opencode.json";

  it("leaves nothing behind where it made the files and folders, also if opencode has named its schema", () => {
    using machine = new Machine();
    const base = machine.base("project");
    machine.put("project/.gitkeep", "");
    machine.install(opencode, base);
    expect(JSON.parse(machine.read(FILE))).toEqual({
      $schema: "https://opencode.ai/config.json",
      mcp: { chronicle: { type: "local", command: MCP } },
    });
    machine.uninstall(opencode, base);
    expect(readdirSync(join(machine.folder, "project"))).toEqual([".gitkeep"]);
  });

  it("keeps an empty folder of the user's, also after a second installation", () => {
    using machine = new Machine();
    const base = machine.base("project");
    mkdirSync(join(machine.folder, "project/.opencode/plugins"), { recursive: true });
    machine.install(opencode, base);
    machine.install(opencode, base, "/anew/chronicle-hook opencode");
    machine.uninstall(opencode, base);
    expect(readdirSync(join(machine.folder, "project/.opencode"))).toEqual(["plugins"]);
  });

  it("keeps settings of the user with comments and a comma before a bracket, byte for byte", () => {
    using machine = new Machine();
    const base = machine.base("project");
    const text =
      '{\n  // mine\n  "model": "a/b",\n  "mcp": {"other": {"type": "remote", "url": "https://example.com"},},\n}\n';
    for (const before of [text, '{"$schema": "https://opencode.ai/config.json"}', "", "\uFEFF{}"]) {
      machine.put(FILE, before);
      machine.install(opencode, base);
      expect(machine.read(FILE)).toContain("chronicle.js");
      machine.uninstall(opencode, base);
      expect([machine.read(FILE), machine.has(`${FILE}.before-chronicle`)]).toEqual([before, false]);
    }
  });

  it("keeps a server of the user's own with the same name", () => {
    using machine = new Machine();
    const own = '{"mcp": {"chronicle": {"type": "local", "command": ["my-server", "mcp"]}}}';
    machine.put(FILE, own);
    machine.install(opencode, machine.base("project"));
    expect(machine.read(FILE)).toBe(own);
  });

  it("refuses to write over a plugin of the user's with the same name", () => {
    using machine = new Machine();
    const path = "project/.opencode/plugins/chronicle.js";
    machine.put(path, "export const Mine = async () => ({});\n");
    expect(() => machine.install(opencode, machine.base("project"))).toThrow("this file is not Chronicle's plugin");
    machine.uninstall(opencode, machine.base("project"));
    expect(machine.read(path)).toBe("export const Mine = async () => ({});\n");
  });

  it("writes a plugin that can be loaded, with the commands of the hooks as they are", async () => {
    using machine = new Machine();
    const base = machine.base("project");
    const command = `'/a "b" \\c/chronicle-hook' opencode`;
    machine.install(opencode, base, command, `${command} --strict || exit 2`);
    const [state] = stateOf(opencode, base);
    expect(state?.found?.hooks).toEqual([command, `${command} --strict || exit 2`]);
    const path = join(machine.folder, "project/.opencode/plugins/chronicle.mjs");
    writeFileSync(path, machine.read("project/.opencode/plugins/chronicle.js"));
    const loaded = (await import(path)) as Readonly<Record<string, unknown>>;
    expect(Object.keys(loaded)).toEqual(["Chronicle"]);
  });
});

describe("installing for Cursor and Copilot CLI, whose hooks stand in one list for each event", () => {
  const hooksIn = (machine: Machine, path: string) =>
    (JSON.parse(machine.read(path)) as { hooks: Record<string, Record<string, unknown>[]> }).hooks;

  it("leaves no file and no folder behind where it made them", () => {
    for (const [agent, stays] of [
      [cursor, [".cursor", ".gitkeep"]],
      [copilot, [".gitkeep"]],
    ] as const) {
      using machine = new Machine();
      const base = machine.base("project");
      machine.put("project/.gitkeep", "");
      machine.install(agent, base);
      machine.uninstall(agent, base);
      expect(readdirSync(join(machine.folder, "project"))).toEqual(stays);
    }
  });

  it("keeps the hooks of others byte for byte, with and without --strict, and leaves no backup", () => {
    for (const [agent, path, own] of [
      [cursor, "project/.cursor/hooks.json", '{"command": "./audit.sh", "matcher": "Shell"}'],
      [copilot, "project/.github/hooks/chronicle.json", '{"type": "command", "bash": "./audit.sh"}'],
    ] as const) {
      const event = agent === cursor ? "preToolUse" : "PreToolUse";
      const text = `{\n    "hooks": {"${event}": [${own}], "mine": []},\n    "version": 1\n}\n`;
      using machine = new Machine();
      const base = machine.base("project");
      machine.put(path, text);
      for (const strict of ["", " --strict || exit 2"]) {
        const hook = `/c/bin/chronicle-hook ${agent.name}`;
        machine.install(agent, base, hook, `${hook}${strict}`);
        const [first, second, ...more] = hooksIn(machine, path)[event] ?? [];
        expect(first).toEqual(JSON.parse(own));
        expect(second?.["command"] ?? second?.["bash"]).toBe(`${hook}${strict}`);
        expect(second?.["failClosed"]).toBe(agent === cursor && strict !== "" ? true : undefined);
        expect(more).toEqual([]);
        expect(stateOf(agent, base)[0]?.found).toMatchObject({ missing: [], misplaced: [] });
      }
      machine.uninstall(agent, base);
      expect([machine.read(path), machine.has(`${path}.before-chronicle`)]).toEqual([text, false]);
    }
  });

  it("refuses a file that they would ignore, and writes nothing", () => {
    for (const text of [
      '// mine\n{"version": 1}',
      '{"version": 1,}',
      '\uFEFF{"version": 1}',
      '{"version": "1"}',
      "{}",
    ]) {
      using machine = new Machine();
      machine.put("project/.cursor/hooks.json", text);
      expect(() => machine.install(cursor, machine.base("project")), text).toThrow("Cursor ignores the whole file");
      expect(machine.has("project/.cursor/mcp.json")).toBe(false);
    }
  });

  it("moves the user's files of Copilot CLI with COPILOT_HOME", () => {
    using machine = new Machine();
    machine.install(copilot, machine.base("user", { COPILOT_HOME: join(machine.folder, "moved") }));
    expect(readdirSync(join(machine.folder, "moved")).toSorted()).toEqual(["hooks", "mcp-config.json", "skills"]);
    const { mcpServers } = JSON.parse(machine.read("moved/mcp-config.json")) as { mcpServers: object };
    const [command, ...args] = MCP;
    expect(mcpServers).toEqual({ chronicle: { type: "local", tools: ["*"], command, args } });
  });
});

describe("installing for Cline", () => {
  const EVENTS = ["PostToolUse", "PreToolUse", "SessionShutdown", "TaskCancel", "TaskComplete", "TaskError"];

  it("leaves nothing behind where it made the files and folders", () => {
    using machine = new Machine();
    const base = machine.base("project");
    machine.put("project/.gitkeep", "");
    machine.install(cline, base);
    const hooks = readdirSync(join(machine.folder, "project/.cline/hooks"));
    expect(hooks.toSorted()).toEqual(EVENTS.map((event) => `${event}.bash`));
    machine.uninstall(cline, base);
    expect(readdirSync(join(machine.folder, "project"))).toEqual([".gitkeep"]);
  });

  it("keeps the user's own hooks of the same events, byte for byte, where Cline runs them as well", () => {
    using machine = new Machine();
    const base = machine.base("user");
    const own = ["PreToolUse", "PreToolUse.sh", "TaskComplete.py"];
    for (const name of own) machine.put(`home/.cline/hooks/${name}`, `#!/bin/sh\necho ${name}`);
    const settings = '{"mcpServers": {"other": {"command": "x"}}}';
    machine.put("home/.cline/data/settings/cline_mcp_settings.json", settings);
    machine.install(cline, base);
    expect(readdirSync(join(machine.folder, "home/.cline/hooks"))).toHaveLength(own.length + EVENTS.length);
    expect(machine.read("home/.cline/data/settings/cline_mcp_settings.json")).toContain("chronicle.js");
    machine.uninstall(cline, base);
    expect(readdirSync(join(machine.folder, "home/.cline/hooks")).toSorted()).toEqual(own);
    for (const name of own) expect(machine.read(`home/.cline/hooks/${name}`)).toBe(`#!/bin/sh\necho ${name}`);
    expect(machine.read("home/.cline/data/settings/cline_mcp_settings.json")).toBe(settings);
    expect(readdirSync(join(machine.folder, "home/.cline/data/settings"))).toHaveLength(1);
  });

  it("refuses to write over a hook of the user's with the name of Chronicle's, and says so", () => {
    using machine = new Machine();
    machine.put("project/.cline/hooks/PreToolUse.bash", "echo mine\n");
    expect(() => machine.install(cline, machine.base("project"))).toThrow(
      "PreToolUse.bash: this file is not Chronicle's hook",
    );
    machine.uninstall(cline, machine.base("project"));
    expect(machine.read("project/.cline/hooks/PreToolUse.bash")).toBe("echo mine\n");
    expect(readdirSync(join(machine.folder, "project/.cline/hooks"))).toEqual(["PreToolUse.bash"]);
  });

  it("refuses servers that Cline would ignore, with the line", () => {
    using machine = new Machine();
    const path = "home/.cline/data/settings/cline_mcp_settings.json";
    for (const text of ["{\n  // mine\n}", '{"a": 1,\n}', '{"mcpServers":\n{"x": {"command": 5}}}']) {
      machine.put(path, text);
      expect(() => machine.install(cline, machine.base("user")), text).toThrow(`${path}, line 2: `);
      expect(machine.has("home/.cline/hooks")).toBe(false);
    }
  });
});
