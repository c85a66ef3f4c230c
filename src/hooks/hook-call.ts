import type { ActionPayload } from "../api/action-api.ts";

/** The meaning of a hook call for Chronicle. The kinds are the same for all agents. */
export type HookKind = "session-start" | "session-end" | "turn-start" | "turn-end" | "before" | "after" | "none";

/** One call of a hook, in the form that is the same for all agents. */
export interface HookCall {
  readonly kind: HookKind;
  /** The agent's own id of the session. Consists of letters, digits, `.`, `_` and `-`. */
  readonly session: string;
  /** The agent's own id of the turn. Without an id, the call belongs to the session's latest turn. */
  readonly turn?: string;
  /** The agent's working folder, absolute. */
  readonly cwd: string;
  /** The agent within the session: the id of a sub-agent, or an empty string for the main agent. */
  readonly lane: string;
  /** 0 for the main agent, 1 for a sub-agent. */
  readonly depth: number;
  /**
   * For `before` and `after`: the agent's own id of the tool call, or an id made from data that identifies the call.
   */
  readonly toolCall?: string;
  /** For `before`: the action that the tool is about to carry out. */
  readonly action?: HookAction;
  /**
   * For `before`: a name for the message of the model that contains the tool call. Set only for agents that first call
   * the hooks for all tool calls of a message, and then run the tools one after another. The recording of such a call
   * begins when the previous call of the message has ended.
   */
  readonly queue?: string;
  /** For `after`: the outcome of the call. */
  readonly outcome?: "done" | "failed";
  /** The reason why the call failed, if the agent gives a reason. */
  readonly reason?: string;
  /** For `turn-start` of an agent without turn ids: an id for the turn that begins. Later calls belong to this turn. */
  readonly startsTurn?: string;
  /**
   * For `turn-start`: the person's message, if the agent gives it. For `before`: the person's message with which the
   * turn began. Set for `before` only if the agent has no hook that reports the message itself.
   */
  readonly prompt?: HookPrompt;
}

/** A person's message to the agent, as the agent gives it to its hook. */
export interface HookPrompt {
  readonly text: string;
  /** The file in which the agent keeps the conversation. */
  readonly transcript?: string;
  /** The agent's own id of the message. */
  readonly message?: string;
}

/** The action that a tool is about to carry out. */
export interface HookAction {
  readonly type: string;
  readonly payload: ActionPayload;
  /** A summary for people, if the type alone does not say enough. */
  readonly summary?: string;
  /**
   * True if the agent possibly carries out the shell line itself, without a shell. In that case, the agent never
   * reports the end of the call.
   */
  readonly unsaid?: true;
}

/** Finds the file in which an agent keeps the conversation, and reads the person's last message from its text. */
export interface ConversationForm {
  /**
   * Returns the path of the file if `HookAdapter.read` needs the person's last message for this input; otherwise
   * `undefined`.
   */
  pathFor(input: unknown): string | undefined;
  /**
   * Returns the person's last message in the text of the file. Returns `undefined` if there is none, or if the text has
   * another form.
   */
  lastPrompt(text: string): HookPrompt | undefined;
}

/** The form of one agent's hooks. */
export interface HookAdapter {
  /** The agent's name in commands, such as `claude`. It is also the actor of the agent's changes. */
  readonly name: string;
  /** The agent's name for people, such as `Claude Code`. */
  readonly title: string;
  /**
   * True if the agent's tool calls usually do not overlap. In that case, the beginning of a call also counts as the end
   * of the previous call.
   */
  readonly sequential: boolean;
  /** Set only for agents whose hook inputs do not contain the person's messages. */
  readonly conversation?: ConversationForm;
  /**
   * Reads an input of a hook. Throws `USAGE` if the input does not have the form of the agent's inputs. `prompt`: the
   * person's last message, for agents with `conversation`.
   */
  read(input: unknown, prompt?: HookPrompt): HookCall;
  /** Returns the output that lets the agent continue, with a message for the user if one is given. */
  goOn(message?: string): string;
  /** Returns the output that keeps the tool from running. `call`: `undefined` if the input was not understood. */
  block(reason: string, call?: HookCall): string;
}
