import { decodeReplica, type ReplicaRecord } from "../../core/records/replica-record.ts";
import type { HistoryContext } from "../log/context.ts";
import { readEvent } from "../log/read-events.ts";

/**
 * Returns the sync that sends what is recorded of a folder to its origin; `undefined` if there is none. The last record
 * is in force: it supersedes one that was written before the origin had said which workspace it is, and one about an
 * earlier origin.
 */
export async function followedOrigin(context: HistoryContext): Promise<ReplicaRecord | undefined> {
  const row = (await context.index.records("replica:")).at(-1);
  if (row === undefined) return undefined;
  const record = decodeReplica((await readEvent(context, row)).record);
  return record.stopped === true ? undefined : record;
}
