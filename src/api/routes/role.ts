/**
 * The roles of callers: a `reader` only reads; an `agent` also changes files and records actions; an `operator` may do
 * everything, including pruning, erasing and configuring. Each role has the rights of the role before it.
 */
export type Role = "reader" | "agent" | "operator";

/** All roles, the least powerful first. */
export const ROLES: readonly Role[] = ["reader", "agent", "operator"];

export function mayDo(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}
