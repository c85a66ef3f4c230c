import { markOf } from "../../core/log/commit-mark.ts";
import type { LogEvent, RecordBody } from "../../core/values/event.ts";
import { refuseOtherFormat } from "../../core/records/workspace-record.ts";

/**
 * Throws `FORMAT_UNSUPPORTED` if the event on which a log begins says that the history has another format than ours. A
 * log of format 1, which has no ends of commits, would otherwise be taken for one torn commit.
 */
export function refuseOtherHistory(event: LogEvent): void {
  const { op, recordId, record } = event;
  if (op === "compact") {
    const inner = (record["workspace"] ?? {}) as RecordBody;
    // The sentinel of a record store names no format; in format 1 it ends no commit.
    refuse(inner["format"] ?? (markOf(event) === undefined ? 1 : undefined), "this history");
  } else if (recordId.startsWith("workspace:")) refuse(record["format"], "this workspace");
  else if (recordId.startsWith("store:")) refuse(record["format"], "this record store");
}

function refuse(format: unknown, what: string): void {
  if (typeof format === "number") refuseOtherFormat(format, what);
}
