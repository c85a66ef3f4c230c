import type { Shape } from "./json-shape.ts";

/**
 * The shapes that each client requires of its files, recorded from Claude Code 2.1.197, Codex 0.169 and Gemini CLI 0.61
 * by running them with a file of each kind. A name that is not here is ignored, as the clients do. If another version
 * rejects more, that shows when the agent works and its hooks are not called.
 */

const STRING = { is: "string" } as const;
const BOOLEAN = { is: "boolean" } as const;
const STRINGS = { is: "list", of: STRING } as const;
const POSITIVE = { is: "number", above: 0 } as const;

function each<T extends Shape>(names: string, shape: T): Readonly<Record<string, T>> {
  return Object.fromEntries(names.split(" ").map((name) => [name, shape]));
}

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

/** Claude Code ignores an unknown event, and one that is no list; anything else must be valid. */
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

/** Claude Code ignores the whole file if any setting has the wrong type. */
export const CLAUDE_SETTINGS: Shape = {
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

/** Codex ignores the whole file if it has an unknown name beside those of events. */
export const CODEX_HOOKS_FILE: Shape = {
  is: "object",
  closed: true,
  once: true,
  fields: {
    description: OR_NULL_STRING,
    hooks: { is: "object", once: true, fields: each(CODEX_EVENTS, CODEX_GROUPS) },
  },
};

/** Gemini CLI reports errors and goes on. A matcher that is no text disables the hooks of that event. */
export const GEMINI_SETTINGS: Shape = {
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
