import { homedir } from "node:os";

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
