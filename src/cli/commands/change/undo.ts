import type { CommandContext } from "../../support/context.ts";
import { stepBack } from "../../support/step-back.ts";

export function undo(context: CommandContext): Promise<number> {
  return stepBack(context, { verb: "undo", step: (workspace, options) => workspace.undo(options) });
}
