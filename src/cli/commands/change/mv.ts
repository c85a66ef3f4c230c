import type { CommandContext } from "../../support/context.ts";
import { withCandidates } from "../../support/find-file.ts";
import { conditionOf, reportWrite } from "../../support/report-write.ts";

export async function mv(context: CommandContext): Promise<number> {
  const { input } = context;
  const [from = "", to = ""] = input.args;
  const workspace = await context.workspace({});
  const paths = context.paths(workspace);
  const options = { ...conditionOf(context), overwrite: input.flag("overwrite") };
  const [source, target] = [await paths.toWorkspace(from), await paths.toWorkspace(to)];
  try {
    return await reportWrite(context, workspace, await workspace.moveFile(source, target, options));
  } catch (error) {
    throw await withCandidates(workspace, error);
  }
}
