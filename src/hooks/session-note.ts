import type { ActionEnd } from "../api/action-api.ts";

/** State of an agent's session between two of its hooks. If it is lost, it is read from the log again. */
export interface SessionNote {
  /** The folder of its workspace: a session stays in the one in which it began, wherever its agent goes. */
  readonly workspace: string;
  /** The turn that is going on, for agents that do not say it with each call. */
  turn?: string;
  /** True if the agent itself has ended its turn: any further work is done by sub-agents in the background. */
  isIdle?: boolean;
  /** Sub-agents have been at work in the session: the end of one agent's turn is not that of the others' calls. */
  hasLanes?: boolean;
  /** Actions that have begun, by lane and tool call: `<lane> <call>`. */
  readonly open: Record<string, string>;
  /** Those of them, by the same names, whose end may never be said. */
  unsaid?: readonly string[];
  /** Actions that were taken for denied, since the agent went on: it may run calls beside each other. By the same names. */
  doubted?: Record<string, string>;
  /** Ends that were said and could not be recorded, by the same names. */
  ends?: Record<string, ActionEnd>;
}

/** Stores notes: the long-lived process in memory, a hook without it in files. */
export interface SessionNotes {
  get(session: string): SessionNote | undefined;
  put(session: string, note: SessionNote): void;
  remove(session: string): void;
}
