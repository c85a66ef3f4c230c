/**
 * The environment variable that `run` sets to `agent` for its command. If the variable is `agent`, the command line
 * refuses operations that only a person may do.
 */
export const ROLE_VARIABLE = "CHRONICLE_ROLE";

export const WHO_CAN = "a person can, from a terminal of their own that neither an agent nor a run has started";

/** Open work whose process is an ancestor of this process. */
export interface WorkAround {
  readonly kind: "session" | "run" | "action";
  readonly id: string;
  readonly actor: string;
  readonly pid: number;
}

/**
 * The kinds of open work whose processes, with all their descendants, count as processes of an agent. `agents` means
 * agents' sessions and all actions. `agents and runs` means agents' sessions, all actions and all runs.
 */
export type Around = "agents" | "agents and runs";
