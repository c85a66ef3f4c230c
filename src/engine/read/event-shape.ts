import type { LogEventShape } from "../../api/shapes.ts";
import type { LogEvent } from "../../core/values/event.ts";

/** An event of the log, for programs. */
export function eventShape(event: LogEvent): LogEventShape {
  return {
    seq: event.seq,
    ts: event.ts,
    record_id: event.recordId,
    op: event.op,
    hash: event.hash,
    prev_hash: event.prevHash,
    recursion_depth: event.recursionDepth,
    record: event.record,
  };
}
