import { EXIT } from "../../../api/problems.ts";
import type { CommandContext } from "../../support/context.ts";
import { counted } from "../../render/counted.ts";

export async function rebuild(context: CommandContext): Promise<number> {
  const workspace = await context.workspace({});
  const result = await workspace.rebuild(context.progress());
  if (context.json) context.printJson(result);
  else {
    const size = `${counted(result.events, "event")}, ${counted(result.entries, "path")}`;
    context.print(`the index was made anew: ${size} in ${result.seconds.toFixed(2)} s`);
  }
  return EXIT.done;
}
