import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import { decodeWorkspace, type WorkspaceRecord } from "../../core/records/workspace-record.ts";
import type { HistoryContext } from "./context.ts";
import { readEvent, wholeOrNone } from "./read-events.ts";
import { memoKey } from "./memo.ts";

/** The key of the workspace record that was read last. The record is cached, because each call of a hook needs it. */
const records = memoKey<{ readonly hash: Hash; readonly record: WorkspaceRecord }>("the workspace's record");

/**
 * Returns the workspace record. Throws `NOT_FOUND` for an empty log, and `INTEGRITY_VIOLATION` if the index lacks the
 * workspace record.
 */
export async function workspaceRecord(context: HistoryContext): Promise<WorkspaceRecord> {
  const row = await context.index.record(`workspace:${context.workspaceId}`);
  if (row === undefined && context.log.head.seq > 0) {
    // Every log that is not empty has a workspace record. So the index is damaged, or another process is filling the
    // index right now.
    throw new ChronicleError("INTEGRITY_VIOLATION", "the index has no record of the workspace");
  }
  if (row === undefined) {
    throw new ChronicleError("NOT_FOUND", "the log has no record of the workspace", { hint: "run `chronicle verify`" });
  }
  const read = context.memo.get(records);
  if (read !== undefined && read.hash === row.hash) return read.record;
  const record = decodeWorkspace((await readEvent(context, row)).record);
  context.memo.set(records, { hash: row.hash, record });
  return record;
}

/**
 * Returns the last workspace record that undamaged lines of the log hold; `undefined` if none does. Needed for a log
 * that is so damaged that the index has no workspace record.
 */
export async function workspaceRecordInLines({
  log,
  workspaceId,
}: HistoryContext): Promise<WorkspaceRecord | undefined> {
  let last: WorkspaceRecord | undefined;
  for await (const lines of log.read()) {
    for (const { bytes } of lines) {
      const event = wholeOrNone(bytes);
      if (event?.recordId === `workspace:${workspaceId}` && event.op === "upsert") last = decodeWorkspace(event.record);
    }
  }
  return last;
}
