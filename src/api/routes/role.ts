/**
 * Who may ask: a `reader` looks; an `agent` works, but cannot give up, free or administer; an `operator` may do everything.
 * Each may what the one before may.
 */
export type Role = "reader" | "agent" | "operator";

/** From the one who may least. */
export const ROLES: readonly Role[] = ["reader", "agent", "operator"];

/** May somebody of this role do what needs that one? */
export function mayDo(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}
