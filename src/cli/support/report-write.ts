import { EXIT } from "../../api/problems.ts";
import type { FileWriteShape } from "../../api/file-api.ts";
import type { ChangeShape } from "../../api/shapes.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { hasGitName } from "../../core/filter/git-name.ts";
import type { CommandContext } from "./context.ts";
import { changeLines } from "../render/changes.ts";
import { copyLines } from "../render/restored.ts";
import { quotePath } from "../../core/shell/quote-command.ts";

const MOST_LINES = 100;

export function conditionOf({ input }: CommandContext): { readonly ifMatch?: string } {
  const hash = input.text("ifMatch");
  return hash === undefined ? {} : { ifMatch: hash };
}

/**
 * Prints the result of a write. Resolves to the exit code: `failed` if somebody else wrote to one of the paths at the
 * same time, else `done`.
 */
export async function reportWrite(
  context: CommandContext,
  workspace: WorkspaceApi,
  result: FileWriteShape,
): Promise<number> {
  const conflicts = result.conflicts ?? [];
  const code = conflicts.length === 0 ? EXIT.done : EXIT.failed;
  if (context.json) {
    context.printJson(result);
    return code;
  }
  const { paint } = context;
  const paths = context.paths(workspace);
  const shown = (path: string): string => paths.shown(path);
  for (const line of changeLines(result.changes, { paint, shown, most: MOST_LINES })) context.print(line);
  for (const line of copyLines(conflicts, { paint, shown })) context.print(line);
  for (const { path, detail } of result.skipped ?? []) context.print(`stays: ${shown(path)} (${detail})`);
  if (result.changes.length === 0) context.print("nothing to change: everything is like that already");
  else context.print(paint("dim", context.worded(await wayBack(workspace, result, shown))));
  return code;
}

/**
 * Returns the hint about how to undo a write. In a hosted workspace, undo does not bring back deleted files of git's
 * own state, because a hosted workspace accepts no git state. For such files, the hint has another command.
 */
async function wayBack(
  workspace: WorkspaceApi,
  result: FileWriteShape,
  shown: (path: string) => string,
): Promise<string> {
  const isGits = (one: ChangeShape): boolean => one.change_type === "deleted" && hasGitName(one.path);
  const [first, ...more] = workspace.path === "" ? result.changes.filter(isGits).map(({ path }) => path) : [];
  if (first === undefined) return "take it back: chronicle undo";
  const [begun] = await workspace.log({ prefix: `intent:${result.undo_id}`, limit: 1 });
  const aside = `chronicle restore seq:${(begun?.seq ?? result.seq) - 1} ${quotePath(shown(first))} --to DIR`;
  if (more.length + 1 < result.changes.length)
    return `take it back: chronicle undo --force; git's own state is not brought back (to restore it elsewhere: ${aside})`;
  return `in a workspace without a folder, undo does not bring back git's own state; to restore it elsewhere: ${aside}`;
}
