import type { RollbackOptions } from "../api/action-api.ts";
import type { RestoreShape } from "../api/shapes.ts";
import type { Context } from "./context.ts";
import { notYet } from "./not-yet.ts";

/** The files of an action as they were before it. */
export async function rollback(_context: Context, _id: string, _options: RollbackOptions = {}): Promise<RestoreShape> {
  return notYet("rollback");
}
