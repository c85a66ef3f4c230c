import type { ActionPayload } from "../api/action-api.ts";

/** The meaning of a hook call to Chronicle, the same for all agents. */
export type HookKind = "session-start" | "session-end" | "turn-start" | "turn-end" | "before" | "after" | "none";

/** One call of a hook, as its adapter has understood it. */
export interface HookCall {
  readonly kind: HookKind;
  /** The agent's own id of the session: letters, digits, `.`, `_`, `-`. */
  readonly session: string;
  /** The agent's own id of the turn, if it has one. Default: the turn that the session's last prompt began. */
  readonly turn?: string;
  /** The agent's working folder, absolute. */
  readonly cwd: string;
  /** The agent within the session: empty for the main agent, else the sub-agent's id. */
  readonly lane: string;
  /** 0: the main agent; 1: an agent that it started. */
  readonly depth: number;
  /** `before` and `after`: the tool call, by the agent's own id, or by data that identifies the call. */
  readonly toolCall?: string;
  /** `before`: the action the tool is about to do, as `snapshotAction` takes it. */
  readonly action?: HookAction;
  /** `after`: how the tool ended. */
  readonly outcome?: "done" | "failed";
  readonly reason?: string;
  /** `turn-start`: the id of the turn that begins, for agents without turn ids: later calls belong to it. */
  readonly startsTurn?: string;
}

/** The tool that is about to run. */
export interface HookAction {
  readonly type: string;
  readonly payload: ActionPayload;
  /** A summary for people, if the type alone says too little. */
  readonly summary?: string;
  /** True if the agent may carry out the call by itself, and then never reports its end. */
  readonly unsaid?: true;
}

/** The form of one agent's hooks. Each agent has one file; everything else is shared. */
export interface HookAdapter {
  /** `claude`: also the actor of the agent's changes. */
  readonly name: string;
  /** For people: `Claude Code`. */
  readonly title: string;
  /**
   * True if the agent's tool calls usually do not overlap. A call that begins is then a sign that the previous call has
   * ended.
   */
  readonly sequential: boolean;
  /** Reads a call from the parsed JSON of the hook's stdin. Throws `USAGE` if it is none of the agent's inputs. */
  read(input: unknown): HookCall;
  /** Returns the output that lets the agent continue, with or without a message for the user. */
  goOn(message?: string): string;
  /** Returns the output that keeps the tool from running. */
  block(reason: string): string;
}
