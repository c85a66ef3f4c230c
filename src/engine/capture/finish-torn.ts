import { ChronicleError } from "../../core/values/errors.ts";
import { answer } from "../log/answer.ts";
import type { Context } from "../log/context.ts";
import { isHosted } from "../log/hosted.ts";
import { openIntents, settle } from "./operate.ts";

/**
 * Takes back what a crash has left of a write where there is no folder, before anybody looks: half a move would show files
 * as gone that are not. Where somebody else is at work, or nothing may be changed, it is seen as it is.
 */
export async function finishTorn(context: Context): Promise<void> {
  if (context.readOnly || !isHosted(context.worktree.roots)) return;
  try {
    if ((await answer(context, () => openIntents(context))).length > 0) await settle(context);
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    // A caller that only reads may go on; a caller that changes something is told what is wrong.
    context.tell?.(`an interrupted change could not be finished: ${error.message}`);
  }
}
