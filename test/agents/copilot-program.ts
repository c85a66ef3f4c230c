import { join } from "node:path";
import type { AgentProgram } from "./agent-program.ts";
import { agentModules } from "./installed-agents.ts";
import { openaiChatProtocol } from "./openai-chat-protocol.ts";
import versions from "./versions.json" with { type: "json" };

/**
 * GitHub Copilot CLI, offline and without an account: it then speaks only to the scripted model. It loads the hooks of a
 * project only where the folder is trusted.
 */
export const copilotProgram: AgentProgram = {
  name: "copilot",
  version: versions["@github/copilot"],
  protocol: openaiChatProtocol,
  givesCallIds: false,
  keepsTranscript: false,
  command: (nodeModules) => [join(nodeModules, "@github", `copilot-${process.platform}-${process.arch}`, "copilot")],
  prepare: () => undefined,
  environment: (url) => ({
    // It unpacks itself there (235 MB), once for all homes.
    XDG_CACHE_HOME: join(agentModules, ".copilot-cache"),
    COPILOT_OFFLINE: "true",
    COPILOT_AUTO_UPDATE: "false",
    COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
    COPILOT_PROVIDER_API_KEY: "dummy",
    COPILOT_MODEL: "scripted",
  }),
  arguments: (prompt) => ["-p", prompt, "--allow-all-tools", "--trust-folder"],
  toCall: (step, folder) => {
    if ("write" in step) {
      return { name: "create", input: { path: join(folder, step.write), file_text: step.content } };
    }
    if ("edit" in step) {
      return { name: "edit", input: { path: join(folder, step.edit), old_str: step.from, new_str: step.to } };
    }
    if ("shell" in step) return { name: "bash", input: { command: step.shell, description: "a step of the script" } };
    return { name: `chronicle-${step.mcp}`, input: step.input };
  },
};
