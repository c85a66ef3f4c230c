/** Set by `run` for its command, so that the command line refuses what only a person may do: `agent`. */
export const ROLE_VARIABLE = "CHRONICLE_ROLE";

/** For whoever meets a refusal without being an agent. */
export const WHO_CAN = "a person can, from a terminal of their own that neither an agent nor a run has started";

/** Whose processes around one count: those of agents alone, or of runs as well. */
export type Around = "agents" | "agents and runs";
