import type { HookCall, HookKind } from "./hook-call.ts";
import { type HookInput, neededText, objectAt } from "./hook-input.ts";
import { actionOf, type ToolReader } from "./tool-table.ts";

/** How the input of one agent's hooks describes tool calls. */
export interface ToolCallStyle {
  readonly tools: Readonly<Record<string, ToolReader>>;
  /** The agent's id of the call, or the data that identifies it. */
  readonly callId: (tool: string, toolInput: HookInput) => string;
  /** The failure of the tool; `undefined` if it did not fail. */
  readonly failure: () => { readonly reason?: string } | undefined;
}

/** Completes a hook's call with its tool, from `tool_name` and `tool_input`. */
export function readToolCall(
  base: Omit<HookCall, "kind">,
  kind: HookKind,
  { input, style }: { readonly input: HookInput; readonly style: ToolCallStyle },
): HookCall {
  if (kind !== "before" && kind !== "after") return { ...base, kind };
  const tool = neededText(input, "tool_name");
  const toolInput = objectAt(input, "tool_input");
  const action = actionOf(style.tools, tool, { input: toolInput, cwd: base.cwd });
  if (action === undefined) return { ...base, kind: "none" };
  const call = { ...base, toolCall: style.callId(tool, toolInput) };
  if (kind === "before") return { ...call, kind, action };
  const failure = style.failure();
  return failure === undefined ? { ...call, kind, outcome: "done" } : { ...call, kind, outcome: "failed", ...failure };
}
