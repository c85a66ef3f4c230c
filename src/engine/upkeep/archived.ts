import { encodeWorkspace, type WorkspaceRecord } from "../../core/records/workspace-record.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { withCommit } from "../commit/commit.ts";
import { workspaceRecord } from "../log/own-record.ts";
import type { Context } from "../log/context.ts";
import { followedOrigin } from "../facts/followed-origin.ts";

/**
 * Archives or unarchives the workspace, and returns its record. Records no event if nothing changes. Throws `REFUSED`
 * for a workspace that follows an origin, if it is to be archived.
 */
export async function setArchived(context: Context, archived: boolean): Promise<WorkspaceRecord> {
  return withCommit(
    context,
    async (commit) => {
      const { archived: since, ...record } = await workspaceRecord(context);
      if ((since !== undefined) === archived) return since === undefined ? record : { ...record, archived: since };
      if (archived) await refuseSynced(context);
      const changed = archived ? { ...record, archived: new Date(context.now()).toISOString() } : record;
      const recordId = `workspace:${context.workspaceId}`;
      await commit.append([{ op: "upsert", recordId, record: encodeWorkspace(changed) }]);
      return changed;
    },
    { archivedToo: true },
  );
}

/**
 * Throws `REFUSED` if the workspace follows an origin. In an archived workspace, the sync would fail again and again
 * without notice.
 */
async function refuseSynced(context: Context): Promise<void> {
  const followed = await followedOrigin(context);
  if (followed === undefined) return;
  throw new ChronicleError("REFUSED", `this workspace is in a sync with ${followed.url}`, {
    hint: "end the sync first: `chronicle sync stop`, with the folder or the id of the workspace",
    data: { workspace: context.workspaceId },
  });
}
