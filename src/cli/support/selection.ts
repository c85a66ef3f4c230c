import type { Selection } from "../../api/action-api.ts";
import { isOneSelection } from "../../api/selection-fields.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import type { CommandContext } from "./context.ts";
import { usageError } from "../../process/usage-error.ts";

const OPTIONS = ["action", "turn", "session", "actor", "file", "since", "to", "until"] as const;

/**
 * Returns the selection that the options name; empty if no option is given. Throws `USAGE` if the options cannot be
 * given together (`isOneSelection`), or if the path of `--file` is outside of the workspace.
 */
export async function selectionOf(context: CommandContext, workspace: WorkspaceApi): Promise<Selection> {
  const { input } = context;
  const given = OPTIONS.filter((name) => input.text(name) !== undefined);
  if (!isOneSelection(given)) {
    throw usageError(
      `${given.map((name) => `--${name}`).join(" and ")} cannot be given together`,
      "select the work in one way: `--action ID` is one action of a turn (`chronicle actions` lists them), and " +
        "`--turn` can be given with `--session` or `--actor`; `--file PATH` alone selects everybody's edits of a path, and " +
        "with another option only that option's work on the path; `--until` ends a range that `--since` or `--to` begins",
    );
  }
  const values = given.map(async (name) => {
    const value = input.text(name) ?? "";
    return [name, name === "file" ? await context.paths(workspace).toWorkspace(value) : value] as const;
  });
  return Object.fromEntries(await Promise.all(values));
}
