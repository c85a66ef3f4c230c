import { EXIT } from "../../api/problems.ts";
import type { SnapshotOptions } from "../../api/workspace-api.ts";
import type { CommandContext } from "../context.ts";
import type { Input } from "../input.ts";
import { coverageLines } from "../render/changes.ts";
import { counted } from "../render/counted.ts";
import { printable } from "../render/printable.ts";

function optionsOf(input: Input): SnapshotOptions {
  const [message, name] = [input.text("message"), input.text("name")];
  return {
    ...(message === undefined ? {} : { message }),
    ...(name === undefined ? {} : { name }),
    pin: input.flag("pin"),
    paranoid: input.flag("paranoid"),
  };
}

export async function snapshot(context: CommandContext): Promise<number> {
  const workspace = await context.workspace({ create: true });
  const result = await workspace.snapshot({ ...optionsOf(context.input), ...context.progress() });
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
