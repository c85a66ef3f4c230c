import { extname } from "node:path";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { readTextIfThere } from "../../process/user-files.ts";
import type { AgentConfig, Scope } from "./agent-config.ts";
import { type AgentBase, configPath } from "./install-agent.ts";
import { isObject, readJsonc } from "./json-edit.ts";
import { readToml } from "./toml-mcp.ts";

/** A file in which an agent's hooks can be switched off, with the setting for it. */
interface Switch {
  readonly scope: Scope;
  readonly path: string;
  /** Returns the name of the setting if it keeps Chronicle's hooks from running. */
  readonly offBy: (settings: Readonly<Record<string, unknown>>) => string | undefined;
}

function offInClaude({ disableAllHooks }: Readonly<Record<string, unknown>>): string | undefined {
  return disableAllHooks === true ? "disableAllHooks" : undefined;
}

function offInGemini({ hooksConfig }: Readonly<Record<string, unknown>>): string | undefined {
  if (!isObject(hooksConfig)) return undefined;
  if (hooksConfig["enabled"] === false) return "hooksConfig.enabled";
  const { disabled } = hooksConfig;
  return Array.isArray(disabled) && disabled.includes("chronicle") ? "hooksConfig.disabled" : undefined;
}

function offInCodex({ features }: Readonly<Record<string, unknown>>): string | undefined {
  return isObject(features) ? ["hooks", "codex_hooks"].find((name) => features[name] === false) : undefined;
}

const SWITCHES: Readonly<Record<string, readonly Switch[]>> = {
  claude: [
    { scope: "user", path: ".claude/settings.json", offBy: offInClaude },
    { scope: "project", path: ".claude/settings.json", offBy: offInClaude },
    { scope: "project", path: ".claude/settings.local.json", offBy: offInClaude },
  ],
  codex: [
    { scope: "user", path: ".codex/config.toml", offBy: offInCodex },
    { scope: "project", path: ".codex/config.toml", offBy: offInCodex },
  ],
  gemini: [
    { scope: "user", path: ".gemini/settings.json", offBy: offInGemini },
    { scope: "project", path: ".gemini/settings.json", offBy: offInGemini },
  ],
};

/** Returns the settings, of the user or the project, that keep an agent's installed hooks from running. */
export function switchedOff(agent: AgentConfig, base: AgentBase): { readonly what: string; readonly hint: string }[] {
  return (SWITCHES[agent.name] ?? []).flatMap(({ scope, path, offBy }) => {
    const file = configPath(agent, path, { ...base, scope });
    const settings = settingsIn(agent, file);
    const setting = settings === undefined ? undefined : offBy(settings);
    if (setting === undefined) return [];
    return [{ what: `${agent.title} runs no hooks: ${setting} in ${file}`, hint: "remove that setting" }];
  });
}

/** Returns a file's text; `undefined` if it is unreadable, since then the user's agent cannot read it either. */
function textOrNothing(file: string): string | undefined {
  try {
    return readTextIfThere(file);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/**
 * Returns a file's settings. A file that the agent does not accept switches nothing off; it is reported if Chronicle is
 * installed into it.
 */
function settingsIn(agent: AgentConfig, file: string): Readonly<Record<string, unknown>> | undefined {
  const text = textOrNothing(file)?.replace(/^\uFEFF/, "");
  const reader = agent.files.user.find(({ path }) => extname(path) === extname(file));
  if (text === undefined || reader?.misfit(text) !== undefined) return undefined;
  try {
    return file.endsWith(".toml") ? readToml(text) : readJsonc(text);
  } catch (error) {
    if (error instanceof ChronicleError) return undefined;
    throw error;
  }
}
