import { EXIT } from "../../api/problems.ts";
import type { CommandContext } from "../context.ts";
import { conflictLines, SETTLE } from "../render/conflicts.ts";
import { counted } from "../render/counted.ts";
import { patchText } from "../render/patch.ts";

export async function conflicts(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const found = await workspace.conflicts({ all: context.input.flag("all"), patch: context.input.flag("patch") });
  if (context.json) {
    context.printJson(found);
    return EXIT.done;
  }
  const paths = context.paths(workspace);
  const { paint, io } = context;
  const rows = conflictLines(found, { paint, shown: (path) => paths.shown(path) });
  for (const [index, line] of rows.entries()) {
    context.print(line);
    const patch = found[index]?.patch ?? "";
    if (patch !== "") for (const text of patchText(patch, { paint, escape: io.out.isTerminal })) context.print(text);
  }
  const open = found.filter((one) => one.state === "open").length;
  context.print(open === 0 ? "no conflict is open" : counted(open, "conflict"));
  if (open > 0) context.print(paint("dim", context.worded(SETTLE)));
  return EXIT.done;
}
