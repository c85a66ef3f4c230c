import { WHO_CAN } from "../values/agents-role.ts";
import { ChronicleError } from "../values/errors.ts";

export const KEPT_BACK = "a secret by its name: no agent and no reader is shown it";

/**
 * Returns the error for an agent or reader that requests the bytes of a protected file. `what`: the path or the hash of
 * the file.
 */
export function secretError(what: string): ChronicleError {
  return new ChronicleError("FORBIDDEN", `${JSON.stringify(what)} is ${KEPT_BACK}`, {
    hint: `undo and restore put the file back like any other file. Agents and readers cannot see its content, but ${WHO_CAN}. \`chronicle config protectedNames\` shows the names that a person has added`,
    data: { what },
  });
}
