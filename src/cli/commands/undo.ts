import type { CommandContext } from "../context.ts";
import { stepBack } from "../step-back.ts";

export function undo(context: CommandContext): Promise<number> {
  return stepBack(context, { verb: "undo", step: (workspace, options) => workspace.undo(options) });
}
