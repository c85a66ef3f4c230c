import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentPlace, AgentProgram } from "./agent-program.ts";
import { claudeProgram } from "./claude-program.ts";
import { codexProgram } from "./codex-program.ts";
import { geminiProgram } from "./gemini-program.ts";
import { opencodeProgram } from "./opencode-program.ts";

/** How one agent is started in a terminal. */
export interface TerminalProgram {
  readonly program: AgentProgram;
  /** Answers in advance what the agent would ask when it starts for the first time. */
  prepare(place: AgentPlace): void;
  /** `url`: the scripted model, without a slash at the end. */
  readonly environment: (url: string) => Record<string, string>;
  arguments(url: string): readonly string[];
  /** Matches the screen once the agent takes input. */
  readonly ready: RegExp;
}

export const claudeTerminal: TerminalProgram = {
  program: claudeProgram,
  prepare: ({ home, folder }) => {
    const project = {
      hasTrustDialogAccepted: true,
      hasCompletedProjectOnboarding: true,
      enabledMcpjsonServers: ["chronicle"],
    };
    const settings = {
      hasCompletedOnboarding: true,
      theme: "dark",
      customApiKeyResponses: { approved: ["dummy"], rejected: [] },
      projects: { [folder]: project },
    };
    writeFileSync(join(home, ".claude.json"), JSON.stringify(settings));
  },
  environment: claudeProgram.environment,
  arguments: () => ["--permission-mode", "acceptEdits"],
  ready: /accept edits on/,
};

export const codexTerminal: TerminalProgram = {
  program: codexProgram,
  prepare: ({ home }) => {
    // Otherwise, Codex offers newer models than the scripted one.
    const seen = [
      "[tui]",
      "screen_reader_detection_done = true",
      "[tui.model_availability_nux]",
      '"gpt-6.1-sol" = 1',
      "[notice.model_migrations]",
      '"gpt-5.5" = "gpt-6-sol"',
    ];
    appendFileSync(join(home, ".codex", "config.toml"), `${seen.join("\n")}\n`);
  },
  environment: codexProgram.environment,
  arguments: (url) => {
    const bypass = ["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"];
    return [...bypass, "-c", `model_providers.scripted.base_url="${url}/v1"`];
  },
  ready: /\? for shortcuts/,
};

export const geminiTerminal: TerminalProgram = {
  program: geminiProgram,
  prepare: () => undefined,
  environment: geminiProgram.environment,
  arguments: () => ["--yolo"],
  ready: /Type your message/,
};

export const opencodeTerminal: TerminalProgram = {
  program: opencodeProgram,
  prepare: () => undefined,
  environment: (url) => {
    const { OPENCODE_CONFIG_CONTENT: config = "{}", ...others } = opencodeProgram.environment(url);
    // With its own snapshots of the folder, as opencode is by default.
    return { ...others, OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...JSON.parse(config), snapshot: true }) };
  },
  arguments: () => [],
  ready: /Build · scripted/,
};
