import type { CommandSpec } from "./spec.ts";

const GROUP = "Agents";
const AGENTS: readonly string[] = ["claude", "codex", "gemini"];

export const AGENTS_COMMAND: CommandSpec = {
  name: "agents",
  group: GROUP,
  summary: "have an AI agent's every tool call recorded: install, uninstall, status, test",
  details:
    "install merges hooks (before and after each tool call, sessions, turns) and the MCP server into the agent's own " +
    "configuration: comments, order and other entries stay, a backup is kept beside each file, and twice is the same as " +
    "once. A file that the agent would not take (Claude Code ignores one with a comment) is refused, with the line. It also " +
    "works before the agent itself is installed. With --strict a tool does not run when Chronicle cannot record it, unless " +
    "Chronicle was uninstalled: the agent then works, and is told. status says where hooks stand that the agent does not " +
    "call. test sends a made-up tool call through the installed command.",
  args: [
    { name: "<what>", description: "what to do", completes: ["install", "uninstall", "status", "test"] },
    {
      name: "[agent...]",
      description: "claude, codex, gemini (default: all; install needs a name)",
      completes: AGENTS,
    },
  ],
  options: [
    { flags: "--project", description: "in the project's configuration, in the current folder (default: the user's)" },
    { flags: "--user", description: "in the user's configuration (default)" },
    { flags: "--strict", description: "no tool runs unrecorded: fail closed" },
    { flags: "-n, --dry-run", description: "say what would be written, write nothing" },
  ],
  examples: [
    { line: "chronicle agents install claude", why: "from now on, every tool call of Claude Code can be taken back" },
    { line: "chronicle agents install codex --project", why: "only in this project" },
    { line: "chronicle agents status", why: "where it is installed, and whether it fires" },
    { line: "chronicle agents test claude", why: "try the installed command" },
  ],
  localOnly: { instead: "install them on the machine where the agents work", ignoresEnvironment: true },
};

export const HOOK: CommandSpec = {
  name: "hook",
  group: GROUP,
  summary: "answer one hook call of an agent (called by the agents)",
  args: [{ name: "<agent>", description: "claude, codex or gemini", completes: AGENTS }],
  options: [
    { flags: "--strict", description: "fail closed" },
    { flags: "--direct", description: "straight on the store, without the long-lived process" },
  ],
  examples: [],
  hidden: true,
  localOnly: { instead: "hooks are called on the machine where the agent works", ignoresEnvironment: true },
};
