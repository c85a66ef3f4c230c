import { ChronicleError } from "../../../core/values/errors.ts";
import type { LogEvent } from "../../../core/values/event.ts";
import { decodeReplica, replicaRecordId, type ReplicaRecord } from "../../../core/records/replica-record.ts";
import type { EventRow } from "../../../storage/index-store.ts";
import { catchUp } from "../../../engine/log/catch-up.ts";
import type { Context } from "../../../engine/log/context.ts";
import { readEvent } from "../../../engine/log/read-events.ts";

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
  const record = decodeReplica((await readLast(context, last)).record);
  known.set(context.index, { hash: last.hash, record });
  return record;
}

/** Where the log has less than the index, it is said what that is, and not only that an event is not there. */
async function readLast(context: Context, last: EventRow): Promise<LogEvent> {
  try {
    return await readEvent(context, last);
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "LOG_DAMAGED") throw error;
    throw (await catchUp(context, { recover: false })).damage ?? error;
  }
}
