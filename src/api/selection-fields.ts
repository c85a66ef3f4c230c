import type { Selection } from "./action-api.ts";

type Field = keyof Selection;

/**
 * Returns true if these fields of a selection can be given together: at most one of them, or a turn with its session
 * and its actor, or `since` or `to` with `until`. In addition, `file` may be given: it narrows the selected work to one
 * path.
 */
export function isOneSelection(fields: readonly Field[]): boolean {
  const beside = fields.flatMap((field) => BESIDE[field] ?? []);
  return fields.filter((field) => field !== "file" && !beside.includes(field)).length <= 1;
}

/** The fields that may be given beside a field. */
const BESIDE: Partial<Readonly<Record<Field, readonly Field[]>>> = {
  turn: ["session", "actor"],
  since: ["until"],
  to: ["until"],
};
