import type { CommandContext } from "../../support/context.ts";
import { stepBack } from "../../support/step-back.ts";

export function redo(context: CommandContext): Promise<number> {
  return stepBack(context, { verb: "redo", step: (workspace, options) => workspace.redo(options) });
}
