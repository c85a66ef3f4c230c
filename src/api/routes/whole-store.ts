import { ChronicleError } from "../../core/values/errors.ts";
import type { MeShape } from "./reply-shapes.ts";
import { mayDo } from "./role.ts";

/** What concerns the whole store is not for somebody who may see a part of it only. Throws `FORBIDDEN`. */
export function needsWholeStore({ workspaces }: MeShape): void {
  if (workspaces === null) return;
  throw new ChronicleError("FORBIDDEN", "this token is for certain workspaces, and this concerns the whole store");
}

/** What lies outside of every workspace is its machine's: for an operator of the whole store alone. Throws `FORBIDDEN`. */
export function needsMachine({ role, workspaces }: MeShape): void {
  if (mayDo(role, "operator") && workspaces === null) return;
  throw new ChronicleError("FORBIDDEN", "this token is for workspaces, and these paths lie outside of them");
}
