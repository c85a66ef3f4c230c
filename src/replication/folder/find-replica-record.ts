import { decodeReplica, replicaRecordId, type ReplicaRecord } from "../../core/replica-record.ts";
import type { Context } from "../../workspace/context.ts";
import { readEvent } from "../../workspace/read-events.ts";

/** The sync that a workspace's log tells of last; `undefined`: it never was one. */
export async function findReplicaRecord(context: Context): Promise<ReplicaRecord | undefined> {
  const rows = await context.index.records(replicaRecordId(""));
  const last = rows.at(-1);
  return last === undefined ? undefined : decodeReplica((await readEvent(context, last)).record);
}
