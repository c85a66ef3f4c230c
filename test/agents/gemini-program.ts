import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentProgram } from "./agent-program.ts";
import { geminiProtocol } from "./gemini-protocol.ts";
import versions from "./versions.json" with { type: "json" };

/** Gemini CLI. It loads the hooks of a project only where the folder is trusted before it starts. */
export const geminiProgram: AgentProgram = {
  name: "gemini",
  version: versions["@google/gemini-cli"],
  protocol: geminiProtocol,
  givesCallIds: false,
  keepsTranscript: true,
  command: (nodeModules) => [process.execPath, join(nodeModules, "@google/gemini-cli/bundle/gemini.js")],
  prepare: ({ home, folder }) => {
    const settings = {
      security: { auth: { selectedType: "gemini-api-key" } },
      privacy: { usageStatisticsEnabled: false },
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
    };
    mkdirSync(join(home, ".gemini"));
    writeFileSync(join(home, ".gemini", "settings.json"), JSON.stringify(settings));
    writeFileSync(join(home, ".gemini", "trustedFolders.json"), JSON.stringify({ [folder]: "TRUST_FOLDER" }));
  },
  environment: (url) => ({ GEMINI_API_KEY: "dummy", GOOGLE_GEMINI_BASE_URL: url }),
  arguments: (prompt) => ["-p", prompt, "--yolo", "-o", "stream-json"],
  toCall: (step, folder) => {
    if ("write" in step)
      return { name: "write_file", input: { file_path: join(folder, step.write), content: step.content } };
    if ("edit" in step) {
      const lines = { old_string: step.from, new_string: step.to };
      return {
        name: "replace",
        input: { file_path: join(folder, step.edit), instruction: "a step of the script", ...lines },
      };
    }
    if ("shell" in step) return { name: "run_shell_command", input: { command: step.shell } };
    return { name: `mcp_chronicle_${step.mcp}`, input: step.input };
  },
};
