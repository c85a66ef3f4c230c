import { join } from "node:path";
import { anthropicProtocol } from "./anthropic-protocol.ts";
import type { AgentProgram } from "./agent-program.ts";
import versions from "./versions.json" with { type: "json" };

/** Claude Code. Its binary is a package of its own, so that no install script has to run. */
export const claudeProgram: AgentProgram = {
  name: "claude",
  version: versions["@anthropic-ai/claude-code"],
  protocol: anthropicProtocol,
  givesCallIds: true,
  keepsTranscript: true,
  command: (nodeModules) => {
    return [join(nodeModules, `@anthropic-ai/claude-code-${process.platform}-${process.arch}`, "claude")];
  },
  prepare: () => undefined,
  environment: (url) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "dummy",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
  }),
  arguments: (prompt) => {
    const output = ["--output-format", "stream-json", "--verbose"];
    return [
      "-p",
      prompt,
      ...output,
      "--permission-mode",
      "acceptEdits",
      "--allowedTools",
      "Bash Write Edit mcp__chronicle",
    ];
  },
  toCall: (step, folder) => {
    if ("write" in step)
      return { name: "Write", input: { file_path: join(folder, step.write), content: step.content } };
    if ("edit" in step) {
      return {
        name: "Edit",
        input: { file_path: join(folder, step.edit), old_string: step.from, new_string: step.to },
      };
    }
    if ("shell" in step) return { name: "Bash", input: { command: step.shell, description: "a step of the script" } };
    return { name: `mcp__chronicle__${step.mcp}`, input: step.input };
  },
};
