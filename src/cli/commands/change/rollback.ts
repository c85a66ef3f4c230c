import type { RollbackOptions } from "../../../api/action-api.ts";
import { EXIT } from "../../../api/problems.ts";
import type { RestoreShape } from "../../../api/shapes.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { confirm, previewed } from "../../support/confirm.ts";
import type { CommandContext } from "../../support/context.ts";
import { counted } from "../../render/words.ts";
import { printable, shownCommand } from "../../../process/printable.ts";
import { mostLines, restoredLines, restoredSentence } from "../../render/restored.ts";

const PREVIEW_LINES = 40;

export async function rollback(context: CommandContext): Promise<number> {
  const { input } = context;
  const id = input.args[0] ?? "";
  const dryRun = input.flag("dryRun");
  const workspace = await context.workspace({ readOnly: dryRun });
  const outside = input.list("outside");
  const options: RollbackOptions = { force: input.flag("force"), ...(outside.length === 0 ? {} : { outside }) };
  let asked = false;
  if (!dryRun && context.canAsk && !input.flag("yes")) {
    const { preview, needsQuestion } = await previewed(context, workspace, () =>
      workspace.rollback(id, { ...options, dryRun: true }),
    );
    const isChange = preview.changes.length + (preview.notes ?? []).length > 0;
    // A rollback of files outside of the folder always needs the user's agreement, because `undo` cannot invert such a
    // rollback.
    asked = isChange && (outside.length > 0 || needsQuestion);
    if (asked && !(await agreed(context, workspace, preview))) return EXIT.failed;
  }
  const result = await workspace.rollback(id, { ...options, dryRun });
  if (context.json) context.printJson(result);
  else {
    print(context, workspace, { result, asked });
    if (outside.length === 0) await printOutside(context, workspace, id);
  }
  return result.skipped.length + result.conflicts.length > 0 ? EXIT.failed : EXIT.done;
}

async function agreed(context: CommandContext, workspace: WorkspaceApi, preview: RestoreShape): Promise<boolean> {
  const paths = context.paths(workspace);
  const style = { paint: context.paintErr, shown: (path: string) => paths.shown(path), most: PREVIEW_LINES };
  for (const note of preview.notes ?? []) context.say(context.paintErr("yellow", `note: ${printable(note)}`));
  for (const note of preview.finished) context.say(printable(note));
  for (const line of restoredLines(preview, style)) context.say(line);
  return confirm(
    context,
    preview.changes.length === 0 ? "Put this back?" : `Change ${counted(preview.changes.length, "path")}?`,
  );
}

function print(
  context: CommandContext,
  workspace: WorkspaceApi,
  { result, asked }: { readonly result: RestoreShape; readonly asked: boolean },
): void {
  const paths = context.paths(workspace);
  const style = { paint: context.paint, shown: (path: string) => paths.shown(path), most: mostLines(result, asked) };
  for (const note of result.finished) context.print(printable(note));
  for (const note of result.notes ?? [])
    context.print(context.paint("yellow", `note: ${context.worded(printable(note))}`));
  for (const line of restoredLines(result, style)) context.print(line);
  context.print(restoredSentence(result, result.dry_run ? "would change" : "rolled back"));
  if (result.undo_id !== null) context.print(context.paint("dim", context.worded("take it back: chronicle undo")));
  if (result.rollback_id !== undefined)
    context.print(
      context.paint("dim", context.worded(`take it back: chronicle rollback ${result.rollback_id} --outside PATH`)),
    );
}

/**
 * Reports files outside of the folder that the action changed, with the command that restores one of them. Such a file
 * is restored only if `--outside` names it.
 */
async function printOutside(context: CommandContext, workspace: WorkspaceApi, id: string): Promise<void> {
  const { outside } = await workspace.showAction(id);
  const [first] = outside;
  if (first === undefined) return;
  const command = shownCommand(["chronicle", "rollback", id, "--outside", first]);
  const more = outside.length === 1 ? "" : ` and ${outside.length - 1} more`;
  context.print(context.paint("yellow", `not touched, outside of the folder: ${printable(first)}${more}`));
  context.print(context.paint("dim", context.worded(`to take back one of them: ${command}`)));
}
