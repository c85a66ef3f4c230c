import type { ActionEnd } from "../api/action-api.ts";
import type { HookCall } from "./hook-call.ts";

/** The state of an agent's session between two hooks. If the note is lost, open actions are found again in the log. */
export interface SessionNote {
  /**
   * The workspace's folder. A session stays in the workspace in which it began, even if its agent changes to another
   * folder.
   */
  readonly workspace: string;
  /** The current turn, for agents that do not give it with each call. */
  turn?: string;
  /** A hash of the person's message with which the current turn began. */
  asked?: string;
  /** True if the main agent has ended its turn. From then on, only sub-agents work, in the background. */
  isIdle?: boolean;
  /**
   * True if sub-agents have worked in the session. The open calls are then stored durably, because the log does not
   * name the sub-agent of a call.
   */
  hasLanes?: boolean;
  /** The ids of the open actions, by lane and tool call: `<lane> <call>`. */
  readonly open: Record<string, string>;
  /** The calls that begin when the calls before them have ended, in their order (`HookCall.queue`). */
  waiting?: readonly HookCall[];
  /** The latest `HookCall.queue`, by lane. */
  queues?: Record<string, string>;
  /** The keys of open actions whose end may never be reported. */
  unsaid?: readonly string[];
  /**
   * The ids of actions that were recorded as denied, because the agent began another call. The agent may still be
   * running these calls in parallel. The keys are as in `open`.
   */
  doubted?: Record<string, string>;
  /** The ends of actions that are reported or inferred, but not recorded yet. The keys are as in `open`. */
  ends?: Record<string, ActionEnd>;
}

/**
 * Stores notes. A server keeps them in memory, and partly in files. A hook that runs without a server keeps them in
 * files.
 */
export interface SessionNotes {
  get(session: string): SessionNote | undefined;
  put(session: string, note: SessionNote): void;
  remove(session: string): void;
}
