import { encodeWorkspace, type WorkspaceRecord } from "../core/workspace-record.ts";
import { withCommit } from "./commit.ts";
import { workspaceRecord } from "./config.ts";
import type { Context } from "./context.ts";

/** Archives a workspace, or takes it up again; one event, unless it is so already. */
export async function setArchived(context: Context, archived: boolean): Promise<WorkspaceRecord> {
  return withCommit(
    context,
    async (commit) => {
      const { archived: since, ...record } = await workspaceRecord(context);
      if ((since !== undefined) === archived) return since === undefined ? record : { ...record, archived: since };
      const changed = archived ? { ...record, archived: new Date(context.now()).toISOString() } : record;
      const recordId = `workspace:${context.workspaceId}`;
      await commit.append([{ op: "upsert", recordId, record: encodeWorkspace(changed) }]);
      return changed;
    },
    { archivedToo: true },
  );
}
