import type { Role } from "../api/routes/role.ts";
import type { Route } from "../api/routes/route.ts";
import { ChronicleError } from "../core/errors.ts";

/** What a row does, within a sentence. */
function workOf({ summary }: Pick<Route, "summary">): string {
  return `${summary.slice(0, 1).toLowerCase()}${summary.slice(1)}`;
}

/** The refusal for whoever has not the role that a row needs. */
export function needsRole(row: Pick<Route, "summary" | "role">, role: Role): ChronicleError {
  const message = `this is for ${aRole(row.role)}, and this token is ${aRole(role)}'s: ${workOf(row)}`;
  return new ChronicleError("FORBIDDEN", message, {
    hint: "`chronicle token create` makes others",
    data: { needed: row.role, role },
  });
}

/** An engine's refusal names its method; whoever asks over HTTP is told what that does. */
export function inWords(error: unknown, row: Pick<Route, "summary">): unknown {
  if (!(error instanceof ChronicleError) || error.code !== "FORBIDDEN" || !("what" in error.data)) return error;
  const { hint, data } = error;
  return new ChronicleError("FORBIDDEN", `an agent may not do this: ${workOf(row)}`, {
    ...(hint === undefined ? {} : { hint }),
    data,
    cause: error,
  });
}

function aRole(role: Role): string {
  return role === "reader" ? "a reader" : `an ${role}`;
}
