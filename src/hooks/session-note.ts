import type { ActionEnd } from "../api/action-api.ts";

/** The state of an agent's session between two hooks. If it is lost, open actions are found again in the log. */
export interface SessionNote {
  /** The folder of its workspace: a session stays in the workspace in which it began, wherever its agent goes. */
  readonly workspace: string;
  /** The current turn, for agents that do not give it with each call. */
  turn?: string;
  /** True if the agent itself has ended its turn: any further work is done by sub-agents in the background. */
  isIdle?: boolean;
  /** True if sub-agents have worked in the session: the end of one agent's turn does not end the others' calls. */
  hasLanes?: boolean;
  /** The open actions, by lane and tool call: `<lane> <call>`. */
  readonly open: Record<string, string>;
  /** The keys in `open` of the actions whose end may never be reported. */
  unsaid?: readonly string[];
  /**
   * Actions that were recorded as denied because the agent continued without them, by the same keys. The agent may
   * still be running them in parallel.
   */
  doubted?: Record<string, string>;
  /** Ends of actions that were reported but could not be recorded, by the same keys. */
  ends?: Record<string, ActionEnd>;
}

/** Stores notes: the long-lived process in memory, and in part in files; a hook without that process in files. */
export interface SessionNotes {
  get(session: string): SessionNote | undefined;
  put(session: string, note: SessionNote): void;
  remove(session: string): void;
}
