import { EXIT } from "../../../api/problems.ts";
import type { SnapshotOptions, WorkspaceApi } from "../../../api/workspace-api.ts";
import type { CommandContext } from "../../support/context.ts";
import { coverageLines } from "../../render/changes.ts";
import { counted } from "../../render/words.ts";
import { printable } from "../../../process/printable.ts";
import { optional } from "../../../util/optional.ts";

async function optionsOf(context: CommandContext, workspace: WorkspaceApi): Promise<SnapshotOptions> {
  const { input } = context;
  const [message, name] = [input.text("message"), input.text("name")];
  const paths = context.paths(workspace);
  const onRecord: string[] = [];
  for (const typed of input.list("onRecord")) onRecord.push(await paths.toWorkspace(typed));
  return {
    ...optional({ message, name }),
    pin: input.flag("pin"),
    paranoid: input.flag("paranoid"),
    ...(input.flag("acceptDeletions") ? { acceptDeletions: true } : {}),
    ...(onRecord.length === 0 ? {} : { onRecord }),
  };
}

export async function snapshot(context: CommandContext): Promise<number> {
  const workspace = await context.workspace({ create: true });
  const result = await workspace.snapshot({ ...(await optionsOf(context, workspace)), ...context.progress() });
  if (context.json) context.printJson(result);
  else {
    const { paint } = context;
    const name = result.name === undefined ? "" : ` "${printable(result.name)}"`;
    const changed = result.changed === null ? "" : `: ${counted(result.changed, "change")}`;
    context.print(`snapshot ${result.number}${name}${changed}  ${paint("dim", result.id)}`);
    if (!result.coverage.complete) {
      const paths = context.paths(workspace);
      const style = { paint: context.paintErr, shown: (path: string) => paths.shown(path), most: 20 };
      const [first = "", ...rest] = coverageLines(result.coverage, style);
      context.say(`coverage ${first}`);
      for (const line of rest) context.say(line);
    }
  }
  return result.coverage.complete ? EXIT.done : EXIT.failed;
}
