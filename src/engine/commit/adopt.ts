import { encodeWorkspace, type WorkspaceRecord } from "../../core/records/workspace-record.ts";
import { withCommit } from "./commit.ts";
import { workspaceRecord } from "../log/own-record.ts";
import type { Context } from "../log/context.ts";

/** A folder and its identity on the disk. `device` and `inode` are decimal numbers. */
export interface Place {
  readonly folder: string;
  readonly device: string;
  readonly inode: string;
  /** The time at which the folder was made, if known. */
  readonly born?: string;
}

/** Records that the first root was moved to `place`, and returns the new record. Touches nothing on disk. */
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
