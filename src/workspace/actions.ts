import type { ActionDiffShape, ActionShape } from "../api/action-shapes.ts";
import type { ActionRecord } from "../core/action-record.ts";
import type { Context } from "./context.ts";
import { notYet } from "./not-yet.ts";

/** An action, and where it stands in the log. */
export interface LoggedAction extends ActionRecord {
  readonly id: string;
  /** Of its snapshot: the first event. */
  readonly seq: number;
  readonly hash: string;
  readonly ts: string;
  readonly recursionDepth: number;
  /** The last event of it. */
  readonly lastSeq: number;
}

/** All actions that have a snapshot still, oldest first. */
export async function listActions(_context: Context): Promise<LoggedAction[]> {
  return notYet("listActions");
}

/** By id, its beginning, or the agent's own id of the call. Throws `NOT_FOUND`, `AMBIGUOUS`. */
export async function findAction(_context: Context, _id: string): Promise<LoggedAction> {
  return notYet("findAction");
}

/** Actions as programs see them; each names the hash of the one before. */
export async function actionShapes(_context: Context, _actions: readonly LoggedAction[]): Promise<ActionShape[]> {
  return notYet("actionShapes");
}

/** The files that an action backed up, beside what is there now. */
export async function diffAction(_context: Context, _id: string): Promise<ActionDiffShape> {
  return notYet("diffAction");
}
