import type { Entry } from "./entry.ts";
import type { WorkspacePath } from "./path.ts";

/** How a path differs between two states. */
export type ChangeType = "created" | "modified" | "deleted" | "permissions_changed";

/** One path before and after; never equal, never both absent. */
export interface Change {
  readonly path: WorkspacePath;
  readonly before: Entry | undefined;
  readonly after: Entry | undefined;
}

/** The type of a change. A change of kind is a modification; only the mode: permissions_changed. */
export function changeType(change: Change): ChangeType {
  const { before, after } = change;
  if (before === undefined) return "created";
  if (after === undefined) return "deleted";
  return before.kind === after.kind && before.hash === after.hash ? "permissions_changed" : "modified";
}
