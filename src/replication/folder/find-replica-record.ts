import { decodeReplica, replicaRecordId, type ReplicaRecord } from "../../core/replica-record.ts";
import type { Context } from "../../workspace/context.ts";
import { readEvent } from "../../workspace/read-events.ts";

interface Known {
  readonly hash: string;
  readonly record: ReplicaRecord;
}

/** The last that was read of each log: every cycle asks. */
const known = new WeakMap<object, Known>();

/** The sync that a workspace's log tells of last; `undefined`: it never was one. */
export async function findReplicaRecord(context: Context): Promise<ReplicaRecord | undefined> {
  const rows = await context.index.records(replicaRecordId(""));
  const last = rows.at(-1);
  if (last === undefined) return undefined;
  const earlier = known.get(context.index);
  if (earlier?.hash === last.hash) return earlier.record;
  const record = decodeReplica((await readEvent(context, last)).record);
  known.set(context.index, { hash: last.hash, record });
  return record;
}
