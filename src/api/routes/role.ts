/**
 * The role of a caller. A `reader` only reads. An `agent` may also change files and record actions. An `operator` may
 * do everything, including pruning, erasing and configuring.
 */
export type Role = "reader" | "agent" | "operator";

/** All roles, the least powerful first. */
export const ROLES: readonly Role[] = ["reader", "agent", "operator"];

/** Returns true if a role has the rights of the role `needed`. */
export function mayDo(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}
