import type { WorkspaceApi } from "../../api/workspace-api.ts";
import type { CommandContext } from "./context.ts";

/**
 * Returns the function that restores files of the workspace. For `to` with `--remote`, this process fetches and writes
 * the files, because a server cannot write to a folder of this machine.
 */
export function restoredBy({ remote }: CommandContext, workspace: WorkspaceApi): WorkspaceApi["restore"] {
  return async (moment, how = {}) => {
    const { to } = how;
    if (to === undefined || remote === undefined) return workspace.restore(moment, how);
    const { restoreHere } = await import("../../open.ts");
    return restoreHere(workspace, moment, { ...how, to });
  };
}
