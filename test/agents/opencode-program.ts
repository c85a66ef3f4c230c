import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentProgram } from "./agent-program.ts";
import { openaiChatProtocol } from "./openai-chat-protocol.ts";
import versions from "./versions.json" with { type: "json" };

/** opencode. It runs slash commands only where they are named with `--command`. */
export const opencodeProgram: AgentProgram = {
  name: "opencode",
  version: versions["opencode-ai"],
  protocol: openaiChatProtocol,
  givesCallIds: true,
  keepsTranscript: false,
  command: (nodeModules) => [join(nodeModules, `opencode-${process.platform}-${process.arch}`, "bin", "opencode")],
  prepare: ({ home, folder }) => {
    for (const settings of [join(folder, ".opencode"), join(home, ".config", "opencode")]) {
      mkdirSync(join(settings, "node_modules"), { recursive: true });
      // opencode makes this file when it starts.
      writeFileSync(join(settings, ".gitignore"), "node_modules\npackage.json\npackage-lock.json\n.gitignore");
      // opencode installs the types of its plugins beside them, unless this file names them. If it ends meanwhile, the
      // next one waits for a minute, until the lock of that installation counts as left behind.
      const lock = { lockfileVersion: 3, packages: { "": { dependencies: { "@opencode-ai/plugin": "*" } } } };
      writeFileSync(join(settings, "package-lock.json"), JSON.stringify(lock));
    }
  },
  environment: (url) => ({
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      model: "scripted/scripted",
      // Its own snapshots of the folder, and programs that it runs beside the tools.
      snapshot: false,
      lsp: false,
      formatter: false,
      provider: {
        scripted: {
          npm: "@ai-sdk/openai-compatible",
          options: { baseURL: `${url}/v1`, apiKey: "dummy" },
          models: { scripted: { tool_call: true, limit: { context: 100_000, output: 1_000 } } },
        },
      },
    }),
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    OPENCODE_FAST_BOOT: "1",
  }),
  arguments: (prompt) => {
    const [, command, words = ""] = /^\/(\S+)\s*(.*)$/s.exec(prompt) ?? [];
    const said = (command === undefined ? prompt : words).split(" ").filter((word) => word !== "");
    return ["run", "--format", "json", ...(command === undefined ? [] : ["--command", command]), ...said];
  },
  toCall: (step, folder) => {
    if ("write" in step) return { name: "write", input: { filePath: join(folder, step.write), content: step.content } };
    if ("edit" in step) {
      const lines = { oldString: step.from, newString: step.to };
      return { name: "edit", input: { filePath: join(folder, step.edit), ...lines } };
    }
    if ("shell" in step) return { name: "bash", input: { command: step.shell, description: "a step of the script" } };
    return { name: `chronicle_${step.mcp}`, input: step.input };
  },
};
