import { homedir } from "node:os";

/** Set by `run --otr` for its command: hooks of agents that it starts record nothing. */
export const OFF_RECORD_VARIABLE = "CHRONICLE_OTR";

/** Nothing that is younger than a day is pruned by a command or a hook, unless `config.yaml` says otherwise. */
export const retentionDefaults = { min_age_hours: 24 } as const;

/**
 * This user's home folder: `$HOME`, else the one the system knows; empty if there is none (`placesOf` refuses that).
 */
export function ownHome(env: Readonly<Record<string, string | undefined>>): string {
  const given = env["HOME"];
  if (given !== undefined) return given;
  try {
    return homedir();
  } catch (error) {
    // The user of a container may be in no list of users.
    if (error instanceof Error && "code" in error && error.code === "ERR_SYSTEM_ERROR") return "";
    throw error;
  }
}
