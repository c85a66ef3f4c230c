import type { AgentConfig, ConfigFile, Found, Wanted } from "./agent-config.ts";
import { CLAUDE_SETTINGS, CODEX_HOOKS_FILE, GEMINI_SETTINGS } from "./client-shapes.ts";
import { clientReader, type ClientReader } from "./client-reader.ts";
import { dropHooks, type HookGroup, misplacedStrict, missingEvents, ourCommands, putHooks } from "./json-hooks.ts";
import { dropServer, hasNamesake, ourServer, putServer } from "./json-mcp.ts";
import { dropTomlServer, hasTomlNamesake, ourTomlServer, putTomlServer, tomlMisfit } from "./toml-mcp.ts";

/** The timeout of a hook, in seconds: ten minutes, since the baseline of a large project may take long. */
const SECONDS = 600;

/** The hooks of an agent, in its own format. */
interface HookStyle {
  /** The event before a tool. Only there may the hook stop the agent. */
  readonly before: string;
  /** Events with a matcher for tools, and events without one. */
  readonly tools: readonly string[];
  readonly others: readonly string[];
  readonly timeout: number;
  /** The timeout at the end of a session, for an agent that allows less there and complains of more. */
  readonly atEnd?: number;
  readonly named: boolean;
}

function eventsOf({ tools, others }: HookStyle): readonly string[] {
  return [...others, ...tools];
}

function groups(style: HookStyle, wanted: Wanted): HookGroup[] {
  const { before, tools, timeout, atEnd, named } = style;
  const group = (event: string): HookGroup => {
    const command = event === before ? wanted.hookBefore : wanted.hook;
    const allowed = event === "SessionEnd" ? (atEnd ?? timeout) : timeout;
    const hook = { ...(named ? { name: "chronicle" } : {}), type: "command", command, timeout: allowed };
    return { event, group: { ...(tools.includes(event) ? { matcher: "*" } : {}), hooks: [hook] } };
  };
  return eventsOf(style).map(group);
}

function eventTroubles(text: string, style: HookStyle): Pick<Found, "missing" | "misplaced"> {
  return { missing: missingEvents(text, eventsOf(style)), misplaced: misplacedStrict(text, style.before) };
}

const EMPTY = "{}\n";

function hooksFile(path: string, style: HookStyle, reader: ClientReader): ConfigFile {
  return {
    path,
    holds: "hooks",
    ...reader,
    install: (text, wanted) => putHooks(text ?? EMPTY, groups(style, wanted)),
    uninstall: dropHooks,
    found: (text) => ({ hooks: ourCommands(text), mcp: undefined, namesake: false, ...eventTroubles(text, style) }),
  };
}

function mcpFile(path: string, reader: ClientReader, extra: Readonly<Record<string, unknown>> = {}): ConfigFile {
  return {
    path,
    holds: "mcp",
    ...reader,
    install: (text, wanted) => putServer(text ?? EMPTY, wanted.mcp, extra),
    uninstall: dropServer,
    found: (text) => ({ hooks: [], mcp: ourServer(text), namesake: hasNamesake(text), missing: [], misplaced: [] }),
  };
}

function bothFile(path: string, style: HookStyle, reader: ClientReader): ConfigFile {
  const [hooks, mcp] = [hooksFile(path, style, reader), mcpFile(path, reader)];
  return {
    path,
    holds: "both",
    ...reader,
    install: (text, wanted) => mcp.install(hooks.install(text, wanted), wanted),
    uninstall: (text) => mcp.uninstall(hooks.uninstall(text)),
    found: (text) => ({
      hooks: ourCommands(text),
      mcp: ourServer(text),
      namesake: hasNamesake(text),
      ...eventTroubles(text, style),
    }),
  };
}

function tomlFile(path: string): ConfigFile {
  return {
    path,
    holds: "mcp",
    otherwise: "does not start with it",
    misfit: tomlMisfit,
    install: (text, wanted) => putTomlServer(text ?? "", wanted.mcp),
    uninstall: dropTomlServer,
    found: (text) => ({
      hooks: [],
      mcp: ourTomlServer(text),
      namesake: hasTomlNamesake(text),
      missing: [],
      misplaced: [],
    }),
  };
}

const CLAUDE_HOOKS: HookStyle = {
  before: "PreToolUse",
  tools: ["PreToolUse", "PostToolUse", "PostToolUseFailure"],
  others: ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"],
  timeout: SECONDS,
  named: false,
};

const CODEX_HOOKS: HookStyle = {
  before: "PreToolUse",
  tools: ["PreToolUse", "PostToolUse"],
  others: ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"],
  timeout: SECONDS,
  atEnd: 3,
  named: false,
};

const GEMINI_HOOKS: HookStyle = {
  before: "BeforeTool",
  tools: ["BeforeTool", "AfterTool"],
  others: ["SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"],
  // Only Gemini CLI counts in milliseconds.
  timeout: SECONDS * 1000,
  named: true,
};

const CODEX_TRUST = "Codex runs hooks only once they are trusted: start codex, and accept them (/hooks shows them)";

const PLAIN = { comments: false, byteOrderMark: true };
const CLAUDE = clientReader("ignores the whole file", PLAIN, CLAUDE_SETTINGS);
const CLAUDE_STATE = clientReader("does not start with it", PLAIN);
const CLAUDE_SERVERS = clientReader("ignores the whole file", PLAIN);
const CODEX = clientReader("ignores the whole file", { comments: false, byteOrderMark: false }, CODEX_HOOKS_FILE);
const GEMINI = clientReader("does not take it as it is", { comments: true, byteOrderMark: false }, GEMINI_SETTINGS);

/** The configuration files of each agent. Recorded from Claude Code 2.1, Codex 0.169, Gemini CLI 0.61. */
export const AGENT_CONFIGS: readonly AgentConfig[] = [
  {
    name: "claude",
    title: "Claude Code",
    files: {
      user: [
        hooksFile(".claude/settings.json", CLAUDE_HOOKS, CLAUDE),
        mcpFile(".claude.json", CLAUDE_STATE, { type: "stdio" }),
      ],
      project: [
        hooksFile(".claude/settings.json", CLAUDE_HOOKS, CLAUDE),
        mcpFile(".mcp.json", CLAUDE_SERVERS, { type: "stdio" }),
      ],
    },
    moved: { variable: "CLAUDE_CONFIG_DIR", instead: ".claude" },
    notes: { user: [], project: ["Claude Code asks once whether the MCP server of this project may be used"] },
    traces: ".claude/projects",
  },
  {
    name: "codex",
    title: "Codex",
    files: {
      user: [hooksFile(".codex/hooks.json", CODEX_HOOKS, CODEX), tomlFile(".codex/config.toml")],
      project: [hooksFile(".codex/hooks.json", CODEX_HOOKS, CODEX), tomlFile(".codex/config.toml")],
    },
    moved: { variable: "CODEX_HOME", instead: ".codex" },
    notes: {
      user: [CODEX_TRUST],
      project: [CODEX_TRUST, "and only in projects that it trusts: codex asks for it once"],
    },
    traces: ".codex/sessions",
  },
  {
    name: "gemini",
    title: "Gemini CLI",
    files: {
      user: [bothFile(".gemini/settings.json", GEMINI_HOOKS, GEMINI)],
      project: [bothFile(".gemini/settings.json", GEMINI_HOOKS, GEMINI)],
    },
    notes: { user: [], project: ["Gemini CLI runs the hooks of a project only where its folder is trusted"] },
    moved: { variable: "GEMINI_CLI_HOME", instead: "" },
    traces: ".gemini/tmp",
  },
];
