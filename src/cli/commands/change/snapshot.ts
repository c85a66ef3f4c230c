import { EXIT } from "../../../api/problems.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { SnapshotShape } from "../../../api/shapes.ts";
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
    const changed = await changesOf(workspace, result);
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

/**
 * The number of newest lines of `list` in which the snapshot is searched. One line is not enough, because other
 * processes may add lines at the same time.
 */
const NEWEST = 5;

/**
 * Returns `undefined` for a `ChronicleError`. Throws any other error, because such an error is a mistake in the
 * program.
 */
function noneIfUnreadable(error: unknown): undefined {
  if (error instanceof ChronicleError) return undefined;
  throw error;
}

/**
 * Returns a text with the number of changes that `list` shows for the snapshot: the changes that belong to no other
 * work. If more paths were touched since the previous snapshot, the text also has their number. If the snapshot is not
 * found in the newest lines of `list`, the text has only the number of touched paths.
 */
async function changesOf(workspace: WorkspaceApi, { id, changed, parent }: SnapshotShape): Promise<string> {
  const touched = changed ?? 0;
  const said = `${counted(touched, "path")} touched since snapshot ${parent ?? 0}`;
  // The command does not fail if earlier events are unreadable, because the snapshot itself is already recorded.
  const recent = await workspace.recent(NEWEST).catch(noneIfUnreadable);
  const own = recent?.items.find((item) => item.id === id)?.changed;
  if (own === undefined) return `: ${said}`;
  return `: ${counted(own, "change")}${touched > own ? ` (${said})` : ""}`;
}
