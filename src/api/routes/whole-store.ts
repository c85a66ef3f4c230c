import { ChronicleError } from "../../core/errors.ts";
import type { MeShape } from "./reply-shapes.ts";

/** What concerns the whole store is not for somebody who may see a part of it only. Throws `FORBIDDEN`. */
export function needsWholeStore({ workspaces }: MeShape): void {
  if (workspaces === null) return;
  throw new ChronicleError("FORBIDDEN", "this token is for certain workspaces, and this concerns the whole store");
}
