import { homedir } from "node:os";

/** The variable that `run --otr` sets for its command, so that hooks in it record nothing. */
export const OFF_RECORD_VARIABLE = "CHRONICLE_OTR";

/** The retention limits of commands and hooks, unless `config.yaml` has others. Nothing of the last day is pruned. */
export const retentionDefaults = { min_age_hours: 24 } as const;

/**
 * Returns `$HOME`, or the home folder that the system knows if `HOME` is unset. Returns an empty string if both are
 * unknown; `placesOf` refuses it if it needs a home folder.
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
