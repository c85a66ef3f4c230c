import { parseTree } from "jsonc-parser";
import type { ConfigFile, AgentConfig, Found, Wanted } from "./agent-config.ts";
import { type JsonDialect, jsonMisfit } from "./json-dialect.ts";
import { type Shape, shapeMisfit } from "./json-shape.ts";
import { dropHooks, type HookGroup, misplacedStrict, missingEvents, ourCommands, putHooks } from "./json-hooks.ts";
import { CLINE_NO_SERVER, CLINE_RESTART, CLINE_SECONDS, CLINE_SERVERS, clineHookFiles } from "./cline-hooks.ts";
import {
  CLINE_WORKFLOWS,
  commandFiles,
  COPILOT_SKILLS,
  CURSOR_COMMANDS,
  MARKDOWN_COMMANDS,
  OPENCODE_COMMANDS,
  SKILLS,
  TOML_COMMANDS,
} from "./command-file.ts";
import {
  dropServer,
  hasNamesake,
  OPENCODE_SERVERS,
  ourServer,
  putServer,
  type ServerStyle,
  serversWithArgs,
} from "./json-mcp.ts";
import { readJsonc } from "./json-edit.ts";
import { pluginFile } from "./opencode-plugin.ts";
import { dropTomlServer, hasTomlNamesake, ourTomlServer, putTomlServer, tomlMisfit } from "./toml-mcp.ts";

/**
 * The timeout of a hook, in seconds (ten minutes). The timeout is long, because the first capture of a large project
 * may take long.
 */
const SECONDS = 600;

interface HookStyle {
  /** The event before a tool. Only the hook of this event may stop the agent. */
  readonly before: string;
  /** The events that need a matcher for tools. */
  readonly tools: readonly string[];
  /** The other events. */
  readonly others: readonly string[];
  /** The timeout of a hook, in the agent's unit. */
  readonly timeout: number;
  /**
   * The timeout of the hook at the end of a session, in the agent's unit. Codex allows only a short timeout there, and
   * warns about a longer one. Default: `timeout`.
   */
  readonly atEnd?: number;
  /** True if each hook gets a `name`. */
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

/** The layout of a client's file in which all hooks of an event are in one list, without groups. */
interface ListedStyle {
  readonly before: string;
  readonly events: readonly string[];
  /** Returns the entry of a hook. `mustRun`: true if the tool must not run if the hook fails. */
  entry(command: string, mustRun: boolean): Readonly<Record<string, unknown>>;
  readonly foldersAbove?: number;
}

/** The text of a new file of hooks. It has a version, because Cursor ignores a file without a version. */
const LISTED_EMPTY = '{\n  "version": 1\n}\n';

function listedHooksFile(path: string, style: ListedStyle, reader: ClientReader): ConfigFile {
  const { before, events, foldersAbove = 0 } = style;
  const wantedHooks = ({ hook, hookBefore }: Wanted): HookGroup[] =>
    events.map((event) => {
      const isBefore = event === before;
      return { event, group: style.entry(isBefore ? hookBefore : hook, isBefore && hookBefore !== hook) };
    });
  return {
    path,
    holds: "hooks",
    foldersAbove,
    ...reader,
    install: (text = LISTED_EMPTY, wanted) => putHooks(text, wantedHooks(wanted)),
    uninstall: dropHooks,
    found: (text) => ({
      ...{ hooks: ourCommands(text), mcp: undefined, namesake: false },
      ...{ missing: missingEvents(text, events), misplaced: misplacedStrict(text, before) },
    }),
    isEmpty: (text) => JSON.stringify(readJsonc(text)) === JSON.stringify(readJsonc(LISTED_EMPTY)),
  };
}

/** The text of a new file of settings. It has `$schema`, because opencode adds this name to a file that lacks it. */
const OPENCODE_EMPTY = `{\n  "$schema": "https://opencode.ai/config.json"\n}\n`;

function opencodeFile(path: string): ConfigFile {
  const file = mcpFile(path, OPENCODE, OPENCODE_SERVERS);
  // opencode accepts an empty file.
  const filled = (text: string): string => (text.trim() === "" ? OPENCODE_EMPTY : text);
  return {
    ...file,
    misfit: (text) => file.misfit(filled(text)),
    install: (text = "", wanted) => file.install(filled(text), wanted),
    uninstall: (text) => (text.trim() === "" ? text : file.uninstall(text)),
    found: (text) => file.found(filled(text)),
    isEmpty: (text) => JSON.stringify(readJsonc(text)) === JSON.stringify(readJsonc(OPENCODE_EMPTY)),
  };
}

function mcpFile(path: string, reader: ClientReader, style: ServerStyle = serversWithArgs()): ConfigFile {
  return {
    path,
    holds: "mcp",
    ...reader,
    install: (text, wanted) => putServer(text ?? EMPTY, wanted.mcp, style),
    uninstall: (text) => dropServer(text, style),
    found: (text) => ({
      hooks: [],
      mcp: ourServer(text, style),
      namesake: hasNamesake(text, style),
      missing: [],
      misplaced: [],
    }),
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
    found: (text) => ({ ...mcp.found(text), hooks: ourCommands(text), ...eventTroubles(text, style) }),
  };
}

function tomlFile(path: string): ConfigFile {
  return {
    path,
    holds: "mcp",
    otherwise: "does not start with this file",
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
  // Gemini CLI is the only agent that expects milliseconds.
  timeout: SECONDS * 1000,
  named: true,
};

const CODEX_TRUST =
  "Codex runs hooks only after you have trusted them: start codex, and accept them (/hooks shows them)";

const PLAIN = { comments: false, byteOrderMark: true };

// The following shapes describe the files that each client accepts. They were determined by running Claude Code
// 2.1.197, Codex 0.169 and Gemini CLI 0.61 with a file of each kind. A shape ignores names that it does not list, as
// the clients do. Only a `closed` shape refuses such names. A later version of a client may reject more files.
// `agentStatus` then reports that the agent works without calling its hooks.

const STRING = { is: "string" } as const;
const BOOLEAN = { is: "boolean" } as const;
const STRINGS = { is: "list", of: STRING } as const;
const POSITIVE = { is: "number", above: 0 } as const;

const CLAUDE_HOOK: Shape = {
  is: "variant",
  by: "type",
  cases: {
    command: {
      is: "object",
      needed: ["command"],
      fields: {
        ...each("command if shell statusMessage rewakeMessage rewakeSummary", STRING),
        ...each("once async asyncRewake", BOOLEAN),
        args: STRINGS,
        timeout: POSITIVE,
      },
    },
    ...Object.fromEntries(
      (["prompt", "agent"] as const).map((type) => [
        type,
        {
          is: "object" as const,
          needed: ["prompt"],
          fields: { ...each("prompt if model statusMessage", STRING), once: BOOLEAN, timeout: POSITIVE },
        },
      ]),
    ),
    http: {
      is: "object",
      needed: ["url"],
      fields: { ...each("url if statusMessage", STRING), once: BOOLEAN, timeout: POSITIVE, allowedEnvVars: STRINGS },
    },
    mcp_tool: {
      is: "object",
      needed: ["server", "tool"],
      fields: { ...each("server tool if statusMessage", STRING), once: BOOLEAN, timeout: POSITIVE },
    },
  },
};

/**
 * Claude Code ignores an event whose value is no list. If a list has an invalid element, Claude Code ignores the file.
 */
const CLAUDE_GROUPS: Shape = {
  is: "list",
  orElse: "passed over",
  of: { is: "object", needed: ["hooks"], fields: { matcher: STRING, hooks: { is: "list", of: CLAUDE_HOOK } } },
};

const CLAUDE_EVENTS =
  "PreToolUse PostToolUse PostToolUseFailure PostToolBatch Notification UserPromptSubmit UserPromptExpansion " +
  "SessionStart SessionEnd Stop StopFailure SubagentStart SubagentStop PreCompact PostCompact PermissionRequest " +
  "PermissionDenied Setup TeammateIdle TaskCreated TaskCompleted Elicitation ElicitationResult ConfigChange " +
  "WorktreeCreate WorktreeRemove InstructionsLoaded CwdChanged FileChanged MessageDisplay";

/** Claude Code ignores the whole file if any of these settings has the wrong type. */
const CLAUDE_SETTINGS: Shape = {
  is: "object",
  fields: {
    hooks: { is: "object", fields: each(CLAUDE_EVENTS, CLAUDE_GROUPS) },
    ...each("$schema apiKeyHelper awsCredentialExport awsAuthRefresh model outputStyle language agent", STRING),
    ...each("respectGitignore includeCoAuthoredBy includeGitInstructions enableAllProjectMcpServers", BOOLEAN),
    ...each("disableAllHooks allowManagedHooksOnly alwaysThinkingEnabled spinnerTipsEnabled", BOOLEAN),
    ...each("autoMemoryEnabled fileCheckpointingEnabled prefersReducedMotion autoCompactEnabled verbose", BOOLEAN),
    ...each("enabledMcpjsonServers disabledMcpjsonServers availableModels companyAnnouncements", STRINGS),
    ...each("enabledPlugins extraKnownMarketplaces env", { is: "object" as const }),
    cleanupPeriodDays: { is: "number", above: 0, whole: true },
    permissions: {
      is: "object",
      fields: {
        ...each("allow deny ask", { is: "list" as const, of: { is: "anything" as const } }),
        ...each("defaultMode disableBypassPermissionsMode", STRING),
        additionalDirectories: STRINGS,
      },
    },
    statusLine: { is: "object", needed: ["type", "command"], fields: each("type command", STRING) },
  },
};

const CLAUDE = clientReader("ignores the whole file", PLAIN, CLAUDE_SETTINGS);
const CLAUDE_STATE = clientReader("does not start with this file", PLAIN);
const CLAUDE_SERVERS = clientReader("ignores the whole file", PLAIN);

const OR_NULL_STRING: Shape = { is: "or null", shape: STRING };

const CODEX_HOOK: Shape = {
  is: "variant",
  by: "type",
  cases: {
    command: {
      is: "object",
      once: true,
      needed: ["command"],
      fields: {
        command: STRING,
        statusMessage: OR_NULL_STRING,
        async: BOOLEAN,
        timeout: { is: "or null", shape: { is: "number", from: 0, whole: true } },
      },
    },
    prompt: { is: "object" },
    agent: { is: "object" },
  },
};

const CODEX_GROUPS: Shape = {
  is: "list",
  of: {
    is: "object",
    once: true,
    fields: { matcher: OR_NULL_STRING, hooks: { is: "list", of: CODEX_HOOK } },
  },
};

const CODEX_EVENTS =
  "PreToolUse PostToolUse PermissionRequest PreCompact PostCompact SessionStart SessionEnd UserPromptSubmit Stop " +
  "SubagentStart SubagentStop";

/** Codex ignores the whole file if the file has an unknown name at the top level. */
const CODEX_HOOKS_FILE: Shape = {
  is: "object",
  closed: true,
  once: true,
  fields: {
    description: OR_NULL_STRING,
    hooks: { is: "object", once: true, fields: each(CODEX_EVENTS, CODEX_GROUPS) },
  },
};

const CODEX = clientReader("ignores the whole file", { comments: false, byteOrderMark: false }, CODEX_HOOKS_FILE);

/**
 * Gemini CLI reports errors in a file but still uses the file. The shape covers only `hooks`, because a matcher that is
 * no string disables the hooks of its event.
 */
const GEMINI_SETTINGS: Shape = {
  is: "object",
  fields: {
    hooks: {
      is: "object",
      fields: each("BeforeTool AfterTool SessionStart BeforeAgent AfterAgent SessionEnd", {
        is: "list",
        orElse: "passed over",
        of: { is: "object", fields: { matcher: STRING } },
      } as const),
    },
  },
};

const GEMINI = clientReader(
  "does not accept this file as it is",
  { comments: true, byteOrderMark: false },
  GEMINI_SETTINGS,
);

/** opencode does not start with a file that it does not accept. */
const OPENCODE = clientReader("does not start with this file", {
  comments: true,
  trailingComma: true,
  byteOrderMark: true,
});
const OPENCODE_RESTART = "opencode loads plugins when it starts: restart it where it runs";

const CURSOR_EVENTS = [
  ...["sessionStart", "beforeSubmitPrompt", "stop", "sessionEnd"],
  ...["preToolUse", "postToolUse", "postToolUseFailure"],
];

const CURSOR_HOOKS: ListedStyle = {
  before: "preToolUse",
  events: CURSOR_EVENTS,
  // Without `failClosed`, a tool would run even if its hook takes too long.
  entry: (command, mustRun) => ({ command, timeout: SECONDS, ...(mustRun ? { failClosed: true } : {}) }),
};

/**
 * The events in the spelling of Copilot's extension for VS Code. With this spelling, Copilot CLI passes the name of the
 * event to the hook, together with the fields that the extension passes.
 */
const COPILOT_EVENTS = [
  ...["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"],
  ...["PreToolUse", "PostToolUse", "PostToolUseFailure"],
];

const COPILOT_HOOKS: ListedStyle = {
  before: "PreToolUse",
  events: COPILOT_EVENTS,
  entry: (command) => ({ type: "command", bash: command, timeoutSec: SECONDS }),
  foldersAbove: 1,
};

const BARE_JSON = { comments: false, byteOrderMark: false };
const VERSION_NUMBER = { is: "number", from: 1, whole: true } as const;

/**
 * The shape that Cursor accepts, according to its documentation and to the package of its SDK (1.0.32). This was not
 * tried with Cursor itself.
 */
const CURSOR_HOOK: Shape = {
  is: "object",
  fields: { ...each("command matcher type", STRING), failClosed: BOOLEAN },
};
const CURSOR_HOOKS_FILE: Shape = {
  is: "object",
  needed: ["version"],
  fields: {
    version: VERSION_NUMBER,
    hooks: { is: "object", fields: each(CURSOR_EVENTS.join(" "), { is: "list", of: CURSOR_HOOK } as const) },
  },
};
const CURSOR = clientReader("ignores the whole file", BARE_JSON, CURSOR_HOOKS_FILE);

/**
 * Copilot CLI (1.0.102) ignores only the events and hooks that have the wrong type, and accepts a file without a
 * version.
 */
const COPILOT_HOOKS_FILE: Shape = {
  is: "object",
  fields: { version: VERSION_NUMBER, disableAllHooks: BOOLEAN, hooks: { is: "object" } },
};
const COPILOT = clientReader("ignores the whole file", BARE_JSON, COPILOT_HOOKS_FILE);
const BARE_SERVERS = clientReader("ignores the whole file", BARE_JSON);
const CLINE = clientReader("ignores the whole file", { comments: false, byteOrderMark: false }, CLINE_SERVERS);

const CLAUDE_COMMANDS = commandFiles(MARKDOWN_COMMANDS, (name) => `.claude/commands/${name}.md`, 1);
/**
 * Since version 0.117, Codex does not read files of commands. It reads skills, which a person calls as
 * `$chronicle-undo`.
 */
const CODEX_SKILLS = commandFiles(SKILLS, (name) => `.codex/skills/${name}/SKILL.md`, 2);
const GEMINI_COMMANDS = commandFiles(TOML_COMMANDS, (name) => `.gemini/commands/${name}.toml`, 1);
const CURSOR_MARKDOWN = commandFiles(CURSOR_COMMANDS, (name) => `.cursor/commands/${name}.md`, 1);

const CURSOR_FILES = [
  listedHooksFile(".cursor/hooks.json", CURSOR_HOOKS, CURSOR),
  mcpFile(".cursor/mcp.json", BARE_SERVERS, serversWithArgs({ type: "stdio" })),
  ...CURSOR_MARKDOWN,
];
const CURSOR_RESTART = "Cursor may have to be restarted: its settings show under Hooks whether these hooks are loaded";

const COPILOT_SERVERS = serversWithArgs({ type: "local", tools: ["*"] });

/**
 * The configuration files of each agent, as the versions in test/agents/versions.json use them, and as Cursor documents
 * them.
 */
export const AGENT_CONFIGS: readonly AgentConfig[] = [
  {
    name: "claude",
    title: "Claude Code",
    files: {
      user: [
        hooksFile(".claude/settings.json", CLAUDE_HOOKS, CLAUDE),
        mcpFile(".claude.json", CLAUDE_STATE, serversWithArgs({ type: "stdio" })),
        ...CLAUDE_COMMANDS,
      ],
      project: [
        hooksFile(".claude/settings.json", CLAUDE_HOOKS, CLAUDE),
        mcpFile(".mcp.json", CLAUDE_SERVERS, serversWithArgs({ type: "stdio" })),
        ...CLAUDE_COMMANDS,
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
      user: [hooksFile(".codex/hooks.json", CODEX_HOOKS, CODEX), tomlFile(".codex/config.toml"), ...CODEX_SKILLS],
      project: [hooksFile(".codex/hooks.json", CODEX_HOOKS, CODEX), tomlFile(".codex/config.toml"), ...CODEX_SKILLS],
    },
    moved: { variable: "CODEX_HOME", instead: ".codex" },
    notes: {
      user: [CODEX_TRUST],
      project: [
        CODEX_TRUST,
        "Codex runs the hooks of a project only if it trusts the project: codex asks once whether to trust it",
      ],
    },
    traces: ".codex/sessions",
  },
  {
    name: "gemini",
    title: "Gemini CLI",
    files: {
      user: [bothFile(".gemini/settings.json", GEMINI_HOOKS, GEMINI), ...GEMINI_COMMANDS],
      project: [bothFile(".gemini/settings.json", GEMINI_HOOKS, GEMINI), ...GEMINI_COMMANDS],
    },
    notes: { user: [], project: ["Gemini CLI runs the hooks of a project only where its folder is trusted"] },
    moved: { variable: "GEMINI_CLI_HOME", instead: "" },
    traces: ".gemini/tmp",
  },
  {
    name: "opencode",
    title: "opencode",
    files: {
      user: [
        pluginFile(".config/opencode/plugins/chronicle.js", 1),
        opencodeFile(".config/opencode/opencode.json"),
        ...commandFiles(OPENCODE_COMMANDS, (name) => `.config/opencode/commands/${name}.md`, 1),
      ],
      project: [
        pluginFile(".opencode/plugins/chronicle.js", 2),
        opencodeFile("opencode.json"),
        ...commandFiles(OPENCODE_COMMANDS, (name) => `.opencode/commands/${name}.md`, 2),
      ],
    },
    notes: { user: [OPENCODE_RESTART], project: [OPENCODE_RESTART] },
    moved: { variable: "XDG_CONFIG_HOME", instead: ".config" },
  },
  {
    name: "cursor",
    title: "Cursor",
    files: { user: CURSOR_FILES, project: CURSOR_FILES },
    untried: true,
    notes: {
      user: [CURSOR_RESTART],
      project: [CURSOR_RESTART, "Cursor runs the hooks of a project only where its folder is trusted"],
    },
  },
  {
    name: "copilot",
    title: "Copilot CLI",
    files: {
      user: [
        listedHooksFile(".copilot/hooks/chronicle.json", COPILOT_HOOKS, COPILOT),
        mcpFile(".copilot/mcp-config.json", BARE_SERVERS, COPILOT_SERVERS),
        ...commandFiles(COPILOT_SKILLS, (name) => `.copilot/skills/${name}/SKILL.md`, 2),
      ],
      project: [
        listedHooksFile(".github/hooks/chronicle.json", COPILOT_HOOKS, COPILOT),
        mcpFile(".github/mcp.json", BARE_SERVERS, COPILOT_SERVERS),
        ...commandFiles(COPILOT_SKILLS, (name) => `.github/skills/${name}/SKILL.md`, 3),
      ],
    },
    moved: { variable: "COPILOT_HOME", instead: ".copilot" },
    notes: {
      user: [],
      project: ["Copilot CLI runs the hooks of a project only where its folder is trusted (with -p: --trust-folder)"],
    },
    traces: ".copilot/session-state",
  },
  {
    ...{ name: "cline", title: "Cline" },
    files: {
      user: [
        ...clineHookFiles(".cline/hooks", 1),
        mcpFile(".cline/data/settings/cline_mcp_settings.json", CLINE, serversWithArgs({ timeout: CLINE_SECONDS })),
        ...commandFiles(CLINE_WORKFLOWS, (name) => `.cline/workflows/${name}.md`, 1),
      ],
      project: [
        ...clineHookFiles(".cline/hooks", 2),
        ...commandFiles(CLINE_WORKFLOWS, (name) => `.cline/workflows/${name}.md`, 2),
      ],
    },
    notes: { user: [CLINE_RESTART], project: [CLINE_RESTART, CLINE_NO_SERVER] },
    moved: { variable: "CLINE_DIR", instead: ".cline" },
    traces: ".cline/data/sessions",
  },
];

type ClientReader = Pick<ConfigFile, "otherwise" | "misfit">;

function clientReader(otherwise: string, dialect: JsonDialect, shape?: Shape): ClientReader {
  return {
    otherwise,
    misfit: (text) => {
      const misfit = jsonMisfit(text, dialect);
      if (misfit !== undefined || shape === undefined) return misfit;
      const plain = text.replace(/^\uFEFF/, "");
      const root = parseTree(plain);
      return root === undefined ? undefined : shapeMisfit(plain, root, shape);
    },
  };
}

function each<T extends Shape>(names: string, shape: T): Readonly<Record<string, T>> {
  return Object.fromEntries(names.split(" ").map((name) => [name, shape]));
}
