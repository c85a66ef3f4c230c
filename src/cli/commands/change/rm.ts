import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import type { CommandContext } from "../../support/context.ts";
import { withCandidates } from "../../support/find-file.ts";
import { usageError } from "../../../process/usage-error.ts";
import { conditionOf, reportWrite } from "../../support/report-write.ts";
import { quotePath } from "../../../core/shell/quote-command.ts";

/** Refuses a folder, so that none is deleted by a typing error. */
async function refuseFolder(workspace: WorkspaceApi, path: string, typed: string): Promise<void> {
  const { kind } = await workspace.file(path);
  if (kind === "dir")
    throw usageError(`${typed} is a folder`, `with all that is in it: chronicle rm -r ${quotePath(typed)}`);
}

export async function rm(context: CommandContext): Promise<number> {
  const [typed = ""] = context.input.args;
  const workspace = await context.workspace({});
  const path = await context.paths(workspace).toWorkspace(typed);
  try {
    if (!context.input.flag("recursive")) await refuseFolder(workspace, path, typed);
    return await reportWrite(context, workspace, await workspace.deleteFile(path, conditionOf(context)));
  } catch (error) {
    throw await withCandidates(workspace, error);
  }
}
