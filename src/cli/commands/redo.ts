import type { CommandContext } from "../context.ts";
import { stepBack } from "../step-back.ts";

export function redo(context: CommandContext): Promise<number> {
  return stepBack(context, { verb: "redo", step: (workspace, options) => workspace.redo(options) });
}
