import { encodeWorkspace, type WorkspaceRecord } from "../../core/records/workspace-record.ts";
import { withCommit } from "./commit.ts";
import { canonicalJson } from "../../core/values/canonical-json.ts";
import type { EventDraft } from "../../core/values/event.ts";
import { decodeReplica, encodeReplica, replicaRecordId } from "../../core/records/replica-record.ts";
import { readEvent } from "../log/read-events.ts";
import { optional } from "../../util/optional.ts";
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

/** Records that the first root was moved to `place`, and returns the new record. Changes nothing on disk. */
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

/**
 * Records that an imported history has no folder on this machine, because the recorded folders are those of the machine
 * from which the history comes. Also records that a sync of the former folder has stopped, and gives the workspace the
 * name `name`, if any. Does nothing if the record says all of this already.
 */
export async function detachFolders(context: Context, { name }: { readonly name?: string | undefined }): Promise<void> {
  await withCommit(
    context,
    async (commit) => {
      const { born: _born, ...record } = await workspaceRecord(context);
      const roots = record.roots.map(({ only: _only, ...root }) => ({ ...root, folder: "" }));
      const detached = { ...record, roots, device: "0", inode: "0", ...optional({ name }) };
      const isNew = canonicalJson(encodeWorkspace(detached)) !== canonicalJson(encodeWorkspace(record));
      const recordId = `workspace:${context.workspaceId}`;
      await commit.append([
        ...(isNew ? [{ op: "upsert", recordId, record: encodeWorkspace(detached) } as const] : []),
        ...(await stoppedSync(context)),
      ]);
    },
    { archivedToo: true },
  );
}

/**
 * Returns the event that records that the sync of the workspace's folder has stopped. Returns no event if there was no
 * sync, or if the sync is already recorded as stopped.
 */
async function stoppedSync(context: Context): Promise<readonly EventDraft[]> {
  const row = (await context.index.records(replicaRecordId(""))).at(-1);
  if (row === undefined) return [];
  const record = decodeReplica((await readEvent(context, row)).record);
  if (record.stopped === true) return [];
  return [{ op: "upsert", recordId: row.recordId, record: encodeReplica({ ...record, stopped: true }) }];
}
