import { homedir } from "node:os";

/** This user's home folder: `$HOME`, else what the system says; empty where it is not known (`placesOf` refuses that). */
export function ownHome(env: Readonly<Record<string, string | undefined>>): string {
  const given = env["HOME"];
  if (given !== undefined) return given;
  try {
    return homedir();
  } catch (error) {
    // A user of a container whom no list of users has.
    if (error instanceof Error && "code" in error && error.code === "ERR_SYSTEM_ERROR") return "";
    throw error;
  }
}
