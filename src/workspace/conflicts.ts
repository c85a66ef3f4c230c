import type { ResolveOptions } from "../api/action-api.ts";
import type { ResolveShape } from "../api/action-shapes.ts";
import type { ConflictShape } from "../api/conflict-shape.ts";
import type { Context } from "./context.ts";
import { notYet } from "./not-yet.ts";

/** Parts of undos that did not merge. */
export async function listConflicts(
  _context: Context,
  _options: { readonly all?: boolean } = {},
): Promise<ConflictShape[]> {
  return notYet("conflicts");
}

/** Settles a conflict. */
export async function resolveConflict(
  _context: Context,
  _conflict: string,
  _options: ResolveOptions,
): Promise<ResolveShape> {
  return notYet("resolve");
}
