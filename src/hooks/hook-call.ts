import type { ActionPayload } from "../api/action-api.ts";

/** What a moment in an agent's work means to Chronicle, whatever agent it is. */
export type HookKind = "session-start" | "session-end" | "turn-start" | "turn-end" | "before" | "after" | "none";

/** One call of a hook, understood. */
export interface HookCall {
  readonly kind: HookKind;
  /** The agent's own id of the session: letters, digits, `.`, `_`, `-`. */
  readonly session: string;
  /** The agent's own id of the turn, where it has one. Default: the turn that the session's last prompt has begun. */
  readonly turn?: string;
  /** The agent's working folder, absolute. */
  readonly cwd: string;
  /** Which of the agents of one session it is: empty for the main one, else the sub-agent's id. */
  readonly lane: string;
  /** 0: the main agent; 1: one that it started. */
  readonly depth: number;
  /** `before` and `after`: the tool call, by the agent's id of it or by what identifies it. */
  readonly toolCall?: string;
  /** `before`: what the tool is about to do, as `snapshotAction` takes it. */
  readonly action?: HookAction;
  /** `after`: how the tool ended. */
  readonly outcome?: "done" | "failed";
  readonly reason?: string;
  /** `turn-start`: this is the turn's id although the agent has none: later calls belong to it. */
  readonly startsTurn?: string;
}

/** The tool that is about to run. */
export interface HookAction {
  readonly type: string;
  readonly payload: ActionPayload;
  /** For people, where the type alone says too little. */
  readonly summary?: string;
  /** The agent may carry it out itself, and then never say that it ended. */
  readonly unsaid?: true;
}

/** What one agent's hooks look like. One file each; everything else is the same for all. */
export interface HookAdapter {
  /** `claude`: also the actor of what it does. */
  readonly name: string;
  /** For people: `Claude Code`. */
  readonly title: string;
  /** Its tool calls never overlap: one that begins proves that the one before it has ended. */
  readonly sequential: boolean;
  /** Understands what the agent wrote on the hook's stdin. Throws `USAGE` for what is none of its inputs. */
  read(input: unknown): HookCall;
  /** What to print so that the work goes on, with a message for the user or without. */
  goOn(message?: string): string;
  /** What to print so that the tool does not run. */
  block(reason: string): string;
}
