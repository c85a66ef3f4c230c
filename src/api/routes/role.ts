/**
 * The roles of callers: a `reader` reads; an `agent` works, but cannot prune, free or administer anything; an
 * `operator` may do everything. Each role includes the role before it.
 */
export type Role = "reader" | "agent" | "operator";

/** All roles, the least powerful first. */
export const ROLES: readonly Role[] = ["reader", "agent", "operator"];

/** True if the role includes the needed role. */
export function mayDo(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}
