import type { SessionStart } from "../api/action-api.ts";
import type { SessionShape } from "../api/shapes.ts";
import type { Context } from "./context.ts";
import { notYet } from "./not-yet.ts";

/** Begins an agent's session, or goes on with it. */
export async function startAgentSession(_context: Context, _start: SessionStart = {}): Promise<SessionShape> {
  return notYet("startSession");
}

/** Ends an agent's session; its open actions are abandoned. */
export async function endAgentSession(_context: Context, _id: string): Promise<SessionShape> {
  return notYet("endSession");
}
