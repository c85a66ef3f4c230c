import type { Selection } from "../../api/action-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import type { CommandContext } from "./context.ts";
import { usageError } from "../../process/usage-error.ts";

const OPTIONS = ["action", "turn", "session", "actor", "file", "since", "to"] as const;

/**
 * Returns the selection that the options name; empty if no option is given. Throws `USAGE` if several options are
 * given (except for `--turn` with `--session` or `--actor`), or if the path of `--file` is outside of the workspace.
 */
export async function selectionOf(context: CommandContext, workspace: WorkspaceApi): Promise<Selection> {
  const { input } = context;
  const given = OPTIONS.filter((name) => input.text(name) !== undefined);
  const ofTurn: readonly string[] = given.includes("turn") ? ["session", "actor"] : [];
  if (given.filter((name) => !ofTurn.includes(name)).length > 1) {
    throw usageError(
      `${given.map((name) => `--${name}`).join(" and ")} cannot be given together`,
      "select the work in one way: `--action ID` is one action of a turn (`chronicle actions` lists them), and " +
        "`--file PATH` is everybody's edits of a path; `--turn` can be given with `--session` or `--actor`",
    );
  }
  const values = given.map(async (name) => {
    const value = input.text(name) ?? "";
    return [name, name === "file" ? await context.paths(workspace).toWorkspace(value) : value] as const;
  });
  return Object.fromEntries(await Promise.all(values));
}
