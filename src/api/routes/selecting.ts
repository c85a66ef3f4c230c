import type { Selection } from "../action-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { moment, path, word } from "./fields.ts";

/** The fields that select somebody's work; at most one is given. */
export const selectionFields = {
  action: word("an action's id, its beginning, or the agent's own id of the call").optional(),
  turn: word("an agent's turn; `last` is the one that changed something last").optional(),
  session: word("an agent's session").optional(),
  actor: word("everything that this actor did").optional(),
  file: path("every change to this path, or beneath it").optional(),
  since: moment("every change after this moment").optional(),
};

/** Returns the selection. Throws `USAGE` if it has more than one field. */
export function selectionOf(given: Selection): Selection {
  const named = Object.keys(given);
  if (named.length <= 1) return given;
  throw new ChronicleError("USAGE", `only one of these can be given: ${named.join(", ")}`);
}
