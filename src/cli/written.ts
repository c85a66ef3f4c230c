import { EXIT } from "../api/problems.ts";
import type { FileWriteShape } from "../api/file-api.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import type { CommandContext } from "./context.ts";
import { changeLines } from "./render/changes.ts";
import { printable } from "./render/printable.ts";

const MOST_LINES = 100;

/** What `--if-match` asks for. */
export function conditionOf({ input }: CommandContext): { readonly ifMatch?: string } {
  const hash = input.text("ifMatch");
  return hash === undefined ? {} : { ifMatch: hash };
}

/** Tells what a write did. Resolves to the exit code: 1 where somebody wrote there at the same moment. */
export function tellWritten(context: CommandContext, workspace: WorkspaceApi, result: FileWriteShape): number {
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
  if (conflicts.length > 0) context.print(paint("yellow", "changed meanwhile; the other content is kept:"));
  for (const { path, kept_at } of conflicts) context.print(`  ${shown(path)} → ${printable(kept_at)}`);
  if (result.changes.length === 0) context.print("nothing to change: it is like that already");
  else context.print(paint("dim", context.worded("take it back: chronicle undo")));
  return code;
}
