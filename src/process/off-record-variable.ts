/** Set by `run --otr` for its command: hooks of agents that it starts record nothing. */
export const OFF_RECORD_VARIABLE = "CHRONICLE_OTR";
