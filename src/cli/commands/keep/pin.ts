import { EXIT } from "../../../api/problems.ts";
import type { CommandContext } from "../../support/context.ts";
import { printable } from "../../../process/printable.ts";

async function setPin(context: CommandContext, pinned: boolean): Promise<number> {
  const id = context.input.args[0] ?? "";
  const workspace = await context.workspace({});
  await workspace.pin(id, pinned);
  if (context.json) context.printJson({ id, pinned });
  else context.print(pinned ? `${printable(id)} is kept until it is unpinned` : `${printable(id)} may be pruned`);
  return EXIT.done;
}

export function pin(context: CommandContext): Promise<number> {
  return setPin(context, !context.input.flag("off"));
}

export function unpin(context: CommandContext): Promise<number> {
  return setPin(context, false);
}
