import type { Selection } from "./action-api.ts";

type Field = keyof Selection;

/**
 * Returns true if these fields of a selection can be given together: at most one of them, or a turn with its session
 * and its actor. In addition, `file` may be given: it narrows the selected work to one path.
 */
export function isOneSelection(fields: readonly Field[]): boolean {
  const ofTurn: readonly Field[] = fields.includes("turn") ? ["session", "actor"] : [];
  return fields.filter((field) => field !== "file" && !ofTurn.includes(field)).length <= 1;
}
