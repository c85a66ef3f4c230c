import type { Entry } from "./entry.ts";
import type { WorkspacePath } from "./path.ts";

/** The kind of difference between two states of a path. */
export type ChangeType = "created" | "modified" | "deleted" | "permissions_changed";

/** One path before and after. The two are never equal, and never both absent. */
export interface Change {
  readonly path: WorkspacePath;
  readonly before: Entry | undefined;
  readonly after: Entry | undefined;
}

/**
 * Returns the type of a change. A change of kind is a modification; a change of the mode only is `permissions_changed`.
 */
export function changeType(change: Change): ChangeType {
  const { before, after } = change;
  if (before === undefined) return "created";
  if (after === undefined) return "deleted";
  return before.kind === after.kind && before.hash === after.hash ? "permissions_changed" : "modified";
}
