import { EXIT } from "../../../api/problems.ts";
import type { CommandContext } from "../../support/context.ts";
import { conflictLines, SETTLE, SETTLE_SYNC } from "../../render/conflicts.ts";
import { counted } from "../../render/counted.ts";
import { patchText } from "../../render/patch.ts";

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
  const open = found.filter((one) => one.state === "open");
  context.print(open.length === 0 ? "no conflict is open" : counted(open.length, "conflict"));
  const ofSyncs = open.filter((one) => one.cause === "sync");
  if (open.length > ofSyncs.length) context.print(paint("dim", context.worded(SETTLE)));
  if (ofSyncs.length > 0) context.print(paint("dim", context.worded(SETTLE_SYNC)));
  return EXIT.done;
}
