import type { Role } from "../../api/routes/role.ts";
import type { Route } from "../../api/routes/row.ts";
import { WHO_CAN } from "../../core/values/agents-role.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { optional } from "../../util/optional.ts";

/** The row's summary, for use within a sentence. */
function workOf({ summary }: Pick<Route, "summary">): string {
  return `${summary.slice(0, 1).toLowerCase()}${summary.slice(1)}`;
}

/** The refusal for a caller without the role that a row needs. */
export function needsRole(row: Pick<Route, "summary" | "role">, role: Role): ChronicleError {
  const message = `this is for ${aRole(row.role)}, and this token is ${aRole(role)}'s: ${workOf(row)}`;
  return new ChronicleError("FORBIDDEN", message, {
    hint: "`chronicle token create` makes others",
    data: { needed: row.role, role },
  });
}

/** Says who can, for a caller refused because of its token: from a token there is no way to a terminal. */
const TOKEN_CAN = "a token with the role operator can; the owner of the server makes one, on its machine";

/**
 * An engine's refusal names its method; HTTP clients are told instead what the call does. A refusal for another reason,
 * such as a secret, keeps its words. `role`: of the caller's token.
 */
export function inWords(error: unknown, row: Pick<Route, "summary">, role: Role): unknown {
  if (!(error instanceof ChronicleError) || error.code !== "FORBIDDEN" || !("what" in error.data)) return error;
  const { message, data } = error;
  const isOfMethod = message === `${NOT_FOR_AGENTS}${String(data["what"])}`;
  const hint = role === "operator" ? error.hint : error.hint?.replace(WHO_CAN, TOKEN_CAN);
  return new ChronicleError("FORBIDDEN", isOfMethod ? `${NOT_FOR_AGENTS}${workOf(row)}` : message, {
    ...optional({ hint }),
    data,
    cause: error,
  });
}

const NOT_FOR_AGENTS = "an agent may not do this: ";

function aRole(role: Role): string {
  return role === "reader" ? "a reader" : `an ${role}`;
}
