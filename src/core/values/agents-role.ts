/** The variable that `run` sets to `agent` for its command: the command line then refuses what only a person may do. */
export const ROLE_VARIABLE = "CHRONICLE_ROLE";

/** The hint for a person who is refused, by mistake, what only a person may do. */
export const WHO_CAN = "a person can, from a terminal of their own that neither an agent nor a run has started";

/** The surrounding processes that count: those of agents alone, or also those of runs. */
export type Around = "agents" | "agents and runs";
