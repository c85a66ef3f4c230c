import type { ActionEnd, ActionRequest } from "../api/action-api.ts";
import type { ActionEndShape, ActionShape } from "../api/action-shapes.ts";
import type { Context } from "./context.ts";
import { notYet } from "./not-yet.ts";

/** Keeps what an action is about to destroy. */
export async function snapshotAction(_context: Context, _request: ActionRequest): Promise<ActionShape | null> {
  return notYet("snapshotAction");
}

/** Records what an action has left. */
export async function finishAction(_context: Context, _id: string, _end: ActionEnd = {}): Promise<ActionEndShape> {
  return notYet("finishAction");
}

/** Abandons the open actions of a session or turn. */
export async function abandonActions(
  _context: Context,
  _of: { readonly session: string; readonly turn?: string; readonly reason?: string },
): Promise<string[]> {
  return notYet("abandonActions");
}
