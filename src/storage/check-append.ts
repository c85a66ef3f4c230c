import { markOf } from "../core/log/commit-mark.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { Head, SealedEvent } from "../core/values/event.ts";

/**
 * Throws `INTEGRITY_VIOLATION` unless the events follow the head, are lines of the log, and the last one ends a commit.
 * The last line of a copy need not (`anyEnd`). Hashes are not recomputed.
 */
export function checkAppend(head: Head, events: readonly SealedEvent[], anyEnd = false): void {
  let last = head;
  for (const event of events) {
    if (event.seq !== last.seq + 1) refuse(event, `the log ends at ${last.seq}`);
    if (event.prevHash !== last.hash) refuse(event, `its prev_hash is not the hash of event ${last.seq}`);
    if (event.line.includes("\n")) refuse(event, "its line holds a newline");
    last = event;
  }
  const end = events.at(-1);
  if (end !== undefined && !anyEnd && markOf(end) === undefined) refuse(end, "it does not end a commit");
}

function refuse(event: SealedEvent, reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", `event ${event.seq} cannot be appended: ${reason}`, {
    hint: "refresh the log and seal the event again",
    data: { seq: event.seq },
  });
}

/** Returns the refusal to append after bytes that are not a line. */
export function tornTail(where: string, tornBytes: number): ChronicleError {
  return new ChronicleError("LOG_DAMAGED", `${where} ends in ${tornBytes} bytes that are not an event`, {
    hint: "reopen the workspace for writing: what was not acknowledged is moved to quarantine",
    data: { tornBytes },
  });
}
