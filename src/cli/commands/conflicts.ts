import { EXIT } from "../../api/problems.ts";
import type { CommandContext } from "../context.ts";
import { conflictLines, SETTLE } from "../render/conflicts.ts";
import { counted } from "../render/counted.ts";

export async function conflicts(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const found = await workspace.conflicts({ all: context.input.flag("all") });
  if (context.json) {
    context.printJson(found);
    return EXIT.done;
  }
  const paths = context.paths(workspace);
  for (const line of conflictLines(found, { paint: context.paint, shown: (path) => paths.shown(path) }))
    context.print(line);
  const open = found.filter((one) => one.state === "open").length;
  context.print(open === 0 ? "no conflict is open" : counted(open, "conflict"));
  if (open > 0) context.print(context.paint("dim", SETTLE));
  return EXIT.done;
}
