import { ChronicleError } from "../core/values/errors.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import { copilot, isOfCopilot } from "./copilot.ts";
import { cursor, isOfCursor } from "./cursor.ts";
import { gemini } from "./gemini.ts";
import { cline } from "./cline.ts";
import type { HookAdapter } from "./hook-call.ts";
import { opencode } from "./opencode.ts";

const HOOK_ADAPTERS: readonly HookAdapter[] = [claude, codex, gemini, opencode, cursor, copilot, cline];

/** Returns the adapter of an agent. Throws `USAGE` if no agent has this name. */
export function hookAdapter(name: string): HookAdapter {
  const found = HOOK_ADAPTERS.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new ChronicleError("USAGE", `there is no agent ${JSON.stringify(name)}`, {
    hint: `agents: ${HOOK_ADAPTERS.map((one) => one.name).join(", ")}`,
  });
}

/**
 * Returns the adapter of the agent that wrote an input. `adapter`: the adapter of the agent for which the hook is
 * installed. The two can differ, because Cursor and Copilot CLI also call the hooks in the settings of Claude Code.
 * Throws `USAGE` if the input is no JSON object.
 */
export function writerOf(adapter: HookAdapter, input: unknown): HookAdapter {
  if (adapter !== claude) return adapter;
  if (isOfCursor(input)) return cursor;
  return isOfCopilot(input) ? copilot : adapter;
}
