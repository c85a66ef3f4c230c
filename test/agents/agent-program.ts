import type { JsonObject } from "./json.ts";
import type { ModelProtocol, ToolCall } from "./model-protocol.ts";

/** What an agent is to do, in words that hold for all of them. Paths are relative to the project. */
export type Step =
  | { readonly write: string; readonly content: string }
  /** One whole line becomes another. */
  | { readonly edit: string; readonly from: string; readonly to: string }
  | { readonly shell: string }
  | { readonly mcp: string; readonly input: JsonObject };

/** Where a session runs. All are absolute; `home` is new and empty, and belongs to this agent alone. */
export interface AgentPlace {
  readonly home: string;
  readonly folder: string;
}

/** One real agent: how it is found, set up, started, and what its tools are called. */
export interface AgentProgram {
  readonly name: "claude" | "codex" | "gemini" | "opencode" | "copilot" | "cline";
  /** The version that the tests install. */
  readonly version: string;
  readonly protocol: ModelProtocol;
  /** Whether its hooks carry the id of the tool call (`call_0000` …). */
  readonly givesCallIds: boolean;
  /** False if it keeps the conversation in no file of its own. */
  readonly keepsTranscript: boolean;
  /** The program in a folder of installed packages, and its leading arguments. The first is an absolute path. */
  command(nodeModules: string): readonly string[];
  /** Writes what it needs in its home, once and before anything else is installed there. */
  prepare(place: AgentPlace): void;
  /** Writes where the model is, before each session, if neither the environment nor an argument can tell it. */
  meet?(place: AgentPlace, url: string): void;
  /** Waits for what the agent leaves behind at the end of a session, or ends it. */
  leave?(place: AgentPlace): Promise<void>;
  /** `url`: the scripted model, without a slash at the end. */
  readonly environment: (url: string) => Record<string, string>;
  /** The arguments of a session without a terminal. */
  arguments(prompt: string, url: string): readonly string[];
  /** The tool call for a step. */
  toCall(step: Step, folder: string): ToolCall;
}
