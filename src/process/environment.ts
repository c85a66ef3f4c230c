import { homedir } from "node:os";

/** The variable that `run --otr` sets for its command, so that hooks of agents within the command record nothing. */
export const OFF_RECORD_VARIABLE = "CHRONICLE_OTR";

/**
 * The default retention limits in commands and hooks: nothing that is younger than a day is pruned. A limit in
 * `config.yaml` takes precedence.
 */
export const retentionDefaults = { min_age_hours: 24 } as const;

/**
 * Returns `$HOME`. If `HOME` is unset, returns the home folder that the system knows, or an empty string if the system
 * knows none. `placesOf` refuses the empty string if it needs a home folder.
 */
export function ownHome(env: Readonly<Record<string, string | undefined>>): string {
  const given = env["HOME"];
  if (given !== undefined) return given;
  try {
    return homedir();
  } catch (error) {
    // A container can run as a user that is not in the list of users.
    if (error instanceof Error && "code" in error && error.code === "ERR_SYSTEM_ERROR") return "";
    throw error;
  }
}
