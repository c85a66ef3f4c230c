import { encodeWorkspace, type WorkspaceRecord } from "../../core/records/workspace-record.ts";
import { withCommit } from "./commit.ts";
import { workspaceRecord } from "../log/own-record.ts";
import type { Context } from "../log/context.ts";

/** Where the first root lies now. */
export interface Place {
  readonly folder: string;
  readonly device: string;
  readonly inode: string;
  /** When the folder was made, where that is known. */
  readonly born?: string;
}

/** Records that the first root was moved. Nothing on disk is touched. */
export async function adoptFolder(context: Context, place: Place): Promise<WorkspaceRecord> {
  return withCommit(context, async (commit) => {
    const { born: _former, ...record } = await workspaceRecord(context);
    const { folder, ...identity } = place;
    const roots = record.roots.map((root, i) => (i === 0 ? { ...root, folder } : root));
    const moved = { ...record, roots, ...identity };
    await commit.append([
      { op: "upsert", recordId: `workspace:${context.workspaceId}`, record: encodeWorkspace(moved) },
    ]);
    return moved;
  });
}
