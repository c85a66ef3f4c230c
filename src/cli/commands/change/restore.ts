import { EXIT } from "../../../api/problems.ts";
import type { RestoreShape } from "../../../api/shapes.ts";
import type { RestoreOptions, WorkspaceApi } from "../../../api/workspace-api.ts";
import { isFixed, parseMoment } from "../../../core/values/moment.ts";
import { writtenPath } from "../../support/written-path.ts";
import { confirm, previewed } from "../../support/confirm.ts";
import type { CommandContext } from "../../support/context.ts";
import { laterWork } from "../../support/later-work.ts";
import { restoredBy } from "../../support/restored-by.ts";
import { withCandidates } from "../../support/find-file.ts";
import { counted } from "../../render/words.ts";
import { printable } from "../../../process/printable.ts";
import { mostLines, restoredLines, restoredSentence } from "../../render/restored.ts";

const PREVIEW_LINES = 40;

async function optionsOf(
  context: CommandContext,
  workspace: WorkspaceApi,
  only: readonly string[],
): Promise<RestoreOptions> {
  const { input } = context;
  const paths = context.paths(workspace);
  const wanted = await Promise.all(only.map((path) => paths.toWorkspace(path)));
  const to = input.text("to");
  return {
    ...(wanted.length === 0 ? {} : { paths: wanted }),
    ...(to === undefined ? {} : { to: writtenPath(context, "--to", to) }),
    keepMtime: input.flag("mtime"),
    force: input.flag("force"),
    ...context.progress(),
  };
}

/**
 * Prints the result. `asked`: true if the user was asked for confirmation. The changes are then not printed again,
 * because the question has shown the first of them.
 */
function print(context: CommandContext, workspace: WorkspaceApi, result: RestoreShape, asked: boolean): void {
  const paths = context.paths(workspace);
  const most = mostLines(result, asked);
  // With `--to`, the paths are paths in the target folder, not in the workspace.
  const shown = (path: string): string => (result.to === undefined ? paths.shown(path) : printable(path));
  const style = { paint: context.paint, shown, most };
  for (const note of result.finished) context.print(printable(note));
  for (const line of restoredLines(result, style)) context.print(line);
  const where = result.to === undefined ? "" : ` in ${printable(result.to)}`;
  context.print(restoredSentence(result, result.dry_run ? `would change${where}` : `restored${where}`));
  if (result.undo_id !== null) context.print(context.paint("dim", context.worded("take it back: chronicle undo")));
}

async function agreed(
  context: CommandContext,
  workspace: WorkspaceApi,
  { preview, later }: { readonly preview: RestoreShape; readonly later: string | undefined },
): Promise<boolean> {
  const paths = context.paths(workspace);
  if (later !== undefined) context.say(context.paintErr("yellow", later));
  const style = { paint: context.paintErr, shown: (path: string) => paths.shown(path), most: PREVIEW_LINES };
  for (const note of preview.finished) context.say(printable(note));
  for (const line of restoredLines(preview, style)) context.say(line);
  return confirm(context, `Change ${counted(preview.changes.length, "path")} in ${workspaceName(workspace)}?`);
}

/**
 * Returns a name for the moment of the preview. Returns `asked` if it names a fixed moment (see `isFixed`), or if the
 * preview has no seq. Otherwise returns `seq:N`, because `latest`, a relative time or a name may mean another moment
 * after the user has answered.
 */
function shownMoment(asked: string, { seq }: RestoreShape): string {
  return seq === undefined || isFixed(parseMoment(asked)) ? asked : `seq:${seq}`;
}

function workspaceName({ path }: WorkspaceApi): string {
  return path === "" ? "the workspace" : printable(path);
}

export function restore(context: CommandContext): Promise<number> {
  const [moment = "", ...only] = context.input.args;
  return restoreMoment(context, moment, only);
}

/** Makes the paths (default: all) equal to the moment, with the options of the command line. */
export async function restoreMoment(
  context: CommandContext,
  moment: string,
  only: readonly string[] = [],
): Promise<number> {
  const { input } = context;
  const dryRun = input.flag("dryRun");
  const mayAsk = !dryRun && input.text("to") === undefined && context.canAsk && !input.flag("yes");
  const workspace = await context.workspace({ readOnly: dryRun });
  const options = await optionsOf(context, workspace, only);
  const go = (to: string, how: RestoreOptions) =>
    restoredBy(context, workspace)(to, how).catch(async (error: unknown) => {
      throw await withCandidates(workspace, error, context.paths(workspace));
    });
  const later =
    options.to === undefined ? await laterWork(context, workspace, { moment, paths: options.paths }) : undefined;
  let meant = moment;
  let asked = false;
  if (mayAsk) {
    const { preview, needsQuestion } = await previewed(context, workspace, () =>
      go(moment, { ...options, dryRun: true }),
    );
    asked = preview.changes.length > 0 && needsQuestion;
    if (asked && !(await agreed(context, workspace, { preview, later }))) return EXIT.failed;
    meant = shownMoment(moment, preview);
  }
  const result = await go(meant, { ...options, dryRun });
  if (later !== undefined && !asked && result.changes.length > 0) context.print(context.paint("yellow", later));
  if (context.json) context.printJson(result);
  else print(context, workspace, result, asked);
  return result.skipped.length + result.conflicts.length > 0 ? EXIT.failed : EXIT.done;
}
