import { ChronicleError } from "../../core/values/errors.ts";
import type { MeShape } from "./reply-shapes.ts";
import { mayDo } from "./role.ts";

/** Throws `FORBIDDEN` for a caller who may see only a part of the store, in operations on the whole store. */
export function needsWholeStore({ workspaces }: MeShape): void {
  if (workspaces === null) return;
  throw new ChronicleError("FORBIDDEN", "this token is for certain workspaces, and this concerns the whole store");
}

/**
 * Throws `FORBIDDEN` unless the caller is an operator of the whole store: paths outside of every workspace belong to
 * the machine.
 */
export function needsMachine({ role, workspaces }: MeShape): void {
  if (mayDo(role, "operator") && workspaces === null) return;
  throw new ChronicleError("FORBIDDEN", "this token is for workspaces, and these paths lie outside of them");
}
