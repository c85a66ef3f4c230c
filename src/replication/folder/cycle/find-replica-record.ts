import { ChronicleError } from "../../../core/values/errors.ts";
import type { LogEvent } from "../../../core/values/event.ts";
import { decodeReplica, replicaRecordId, type ReplicaRecord } from "../../../core/records/replica-record.ts";
import type { EventRow } from "../../../storage/index-store.ts";
import { catchUp } from "../../../engine/log/catch-up.ts";
import type { Context } from "../../../engine/log/context.ts";
import { readEvent } from "../../../engine/log/read-events.ts";
import { memoKey } from "../../../engine/log/memo.ts";

interface Known {
  readonly hash: string;
  readonly record: ReplicaRecord;
}

/** The key of the cached record. The record is cached, because every cycle of the sync reads it. */
const known = memoKey<Known>("the sync's record");

/** Returns the last record of the workspace's sync; `undefined` if the workspace never had a sync. */
export async function findReplicaRecord(context: Context): Promise<ReplicaRecord | undefined> {
  const rows = await context.index.records(replicaRecordId(""));
  const last = rows.at(-1);
  if (last === undefined) return undefined;
  const earlier = context.memo.get(known);
  if (earlier?.hash === last.hash) return earlier.record;
  const record = decodeReplica((await readLast(context, last)).record);
  context.memo.set(known, { hash: last.hash, record });
  return record;
}

/**
 * Reads the record's last event. If the event cannot be read because the log is damaged, throws the error that
 * describes this damage, not the error about the one event.
 */
async function readLast(context: Context, last: EventRow): Promise<LogEvent> {
  try {
    return await readEvent(context, last);
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "LOG_DAMAGED") throw error;
    throw (await catchUp(context, { recover: false })).damage ?? error;
  }
}
