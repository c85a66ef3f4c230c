import { EXIT } from "../../../api/problems.ts";
import type { ChangesShape } from "../../../api/action-shapes.ts";
import type { CommandContext } from "../../support/context.ts";
import { withCandidates } from "../../support/find-file.ts";
import { ambiguousLines, changeLines, countsOf } from "../../render/changes.ts";
import { counted } from "../../render/counted.ts";
import { patchLines } from "../../render/patch.ts";
import { printable } from "../../../process/printable.ts";
import { selectionOf } from "../../support/selection.ts";

const MOST_ACTIONS = 20;

function headLines(context: CommandContext, result: ChangesShape): string[] {
  const actions = result.actions.length === 0 ? "" : `: ${counted(result.actions.length, "action")}`;
  const shown = result.actions.slice(0, MOST_ACTIONS);
  const more = result.actions.length - shown.length;
  return [
    `${printable(result.selection)}${actions}`,
    ...shown.map((one) => context.paint("dim", `  ${one.id.slice(0, 8)}  ${printable(one.action_summary)}`)),
    ...(more > 0 ? [`  … and ${more.toLocaleString("en-US")} more`] : []),
  ];
}

export async function changes(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const { input, paint, io } = context;
  const patch = input.flag("patch");
  const given = await selectionOf(context, workspace);
  const selection = Object.keys(given).length === 0 ? { turn: "last" } : given;
  const result = await workspace.changes(selection, { patch }).catch(async (error: unknown) => {
    throw await withCandidates(workspace, error);
  });
  if (context.json) {
    context.printJson(result);
    return EXIT.done;
  }
  if (patch) {
    for (const line of patchLines(result.changes, { paint, escape: io.out.isTerminal })) context.print(line);
    return EXIT.done;
  }
  const paths = context.paths(workspace);
  const style = { paint, shown: (path: string) => paths.shown(path) };
  for (const line of headLines(context, result)) context.print(line);
  for (const line of changeLines(result.changes, style)) context.print(line);
  const isNothing = result.changes.length + result.ambiguous.length === 0;
  if (result.changes.length > 0) context.print(countsOf(result.changes));
  else context.print(isNothing ? "nothing was changed" : "nothing was changed that is certainly of this work");
  for (const line of ambiguousLines(result.ambiguous, { ...style, worded: context.worded })) context.print(line);
  for (const note of result.notes ?? []) context.print(`note: ${printable(note)}`);
  return EXIT.done;
}
