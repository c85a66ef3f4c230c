import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentProgram } from "./agent-program.ts";
import { openaiProtocol } from "./openai-protocol.ts";
import versions from "./versions.json" with { type: "json" };

const TARGETS: Readonly<Record<string, string>> = {
  "linux-x64": "x86_64-unknown-linux-musl",
  "linux-arm64": "aarch64-unknown-linux-musl",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin",
};

/** A model whose name Codex knows: only then it offers `apply_patch`. */
const MODEL = "gpt-5.5";

function patch(...lines: readonly string[]): string {
  return ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n");
}

/** Codex. Its own guard refuses a plain `rm -rf` where nobody can be asked, unless a rule allows it. */
export const codexProgram: AgentProgram = {
  name: "codex",
  version: versions["@openai/codex"],
  protocol: openaiProtocol,
  givesCallIds: true,
  keepsTranscript: true,
  command: (nodeModules) => {
    const platform = `${process.platform}-${process.arch}`;
    return [join(nodeModules, `@openai/codex-${platform}`, "vendor", TARGETS[platform] ?? platform, "bin", "codex")];
  },
  prepare: ({ home, folder }) => {
    mkdirSync(join(home, ".codex", "rules"), { recursive: true });
    writeFileSync(join(home, ".codex", "rules", "scripted.rules"), `prefix_rule(pattern=["rm"], decision="allow")\n`);
    const config = [
      `model = "${MODEL}"`,
      'model_provider = "scripted"',
      "[model_providers.scripted]",
      'name = "scripted"',
      'base_url = "http://127.0.0.1:9/v1"',
      'wire_api = "responses"',
      'env_key = "SCRIPTED_KEY"',
      `[projects.${JSON.stringify(folder)}]`,
      'trust_level = "trusted"',
    ];
    writeFileSync(join(home, ".codex", "config.toml"), `${config.join("\n")}\n`);
  },
  environment: () => ({ SCRIPTED_KEY: "dummy" }),
  arguments: (prompt, url) => {
    const bypass = ["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"];
    return ["exec", "--json", ...bypass, "-c", `model_providers.scripted.base_url="${url}/v1"`, prompt];
  },
  toCall: (step) => {
    if ("write" in step) {
      const lines = step.content.replace(/\n$/, "").split("\n");
      return { name: "apply_patch", input: patch(`*** Add File: ${step.write}`, ...lines.map((line) => `+${line}`)) };
    }
    if ("edit" in step) {
      return {
        name: "apply_patch",
        input: patch(`*** Update File: ${step.edit}`, "@@", `-${step.from}`, `+${step.to}`),
      };
    }
    if ("shell" in step) return { name: "exec_command", input: { cmd: step.shell } };
    throw new Error("Codex shows the tools of MCP servers only after a search: not scripted here");
  },
};
