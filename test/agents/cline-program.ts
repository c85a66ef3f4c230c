import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentProgram } from "./agent-program.ts";
import { openaiChatProtocol } from "./openai-chat-protocol.ts";
import versions from "./versions.json" with { type: "json" };

/** Cline, in one process: `local` keeps it from starting its hub, a process that outlives it. */
export const clineProgram: AgentProgram = {
  name: "cline",
  version: versions.cline,
  protocol: openaiChatProtocol,
  givesCallIds: true,
  keepsTranscript: true,
  command: (nodeModules) => [join(nodeModules, "@cline", `cli-${process.platform}-${process.arch}`, "bin", "cline")],
  prepare: ({ home }) => mkdirSync(join(home, ".cline", "data", "settings"), { recursive: true }),
  meet: ({ home }, url) => {
    const settings = { provider: "openai-compatible", apiKey: "dummy", model: "scripted", baseUrl: `${url}/v1` };
    const at = { updatedAt: "2026-01-01T00:00:00.000Z", tokenSource: "manual" };
    const providers = { "openai-compatible": { settings, ...at } };
    const text = JSON.stringify({ version: 1, lastUsedProvider: "openai-compatible", modes: {}, providers });
    writeFileSync(join(home, ".cline", "data", "settings", "providers.json"), text);
  },
  // Cline does not wait for the hook at the end of a turn.
  leave: async ({ home, folder }) => {
    for (const hooks of [home, folder].map((base) => join(base, ".cline", "hooks")))
      while (spawnSync("pgrep", ["-f", `${hooks}/(Task|Session)`]).status === 0) await sleep(10);
  },
  environment: () => ({ CLINE_SESSION_BACKEND_MODE: "local", CLINE_NO_AUTO_UPDATE: "1" }),
  arguments: (prompt) => {
    // Cline takes a single word for the name of one of its own commands.
    const said = prompt.includes(" ") ? prompt : `${prompt} please`;
    return ["--json", "-P", "openai-compatible", "-m", "scripted", said];
  },
  toCall: (step, folder) => {
    if ("write" in step) return { name: "editor", input: { path: join(folder, step.write), new_text: step.content } };
    if ("edit" in step) {
      const lines = { old_text: step.from, new_text: step.to };
      return { name: "editor", input: { path: join(folder, step.edit), ...lines } };
    }
    if ("shell" in step) return { name: "run_commands", input: { commands: [step.shell] } };
    return { name: `chronicle__${step.mcp}`, input: step.input };
  },
};
