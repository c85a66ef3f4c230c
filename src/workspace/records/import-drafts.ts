import type { RecordImportShape } from "../../api/record-api.ts";
import type { OriginalLog } from "../../core/chronomemory.ts";
import { ChronicleError } from "../../core/errors.ts";
import type { EventDraft, SealedEvent } from "../../core/event.ts";
import { checkedDepth, plainRecord, userRecordId } from "./check-record.ts";

/**
 * The events that an original log becomes: first one `import:` record, which keeps what our own events have no place for
 * (the times of the original, its head, the file's hash), then one event for each of the original's. Records are not
 * changed: a reader gets what was put in there.
 */
export function importDrafts(original: OriginalLog, importId: string): EventDraft[] {
  const { events, head, file, rounded } = original;
  const about: EventDraft = {
    op: "upsert",
    recordId: `import:${importId}`,
    record: {
      source: "chronomemory",
      file_sha256: file,
      head_seq: head.seq,
      head_hash: head.hash,
      events: events.length,
      rounded,
      // The n-th time and seq belong to the n-th event behind this one.
      seqs: events.map((event) => event.seq),
      times: events.map((event) => event.ts),
    },
  };
  const drafts = events.map((event): EventDraft => {
    try {
      const { op, id, record, recursionDepth } = event;
      const plain = op === "delete" ? {} : plainRecord(record);
      return { op, recordId: userRecordId(id), record: plain, recursionDepth: checkedDepth(recursionDepth) };
    } catch (error) {
      if (!(error instanceof ChronicleError)) throw error;
      throw new ChronicleError("REFUSED", `line ${event.line} cannot be kept here: ${error.message}`, {
        hint: "nothing was imported",
        data: { line: event.line },
        cause: error,
      });
    }
  });
  return [about, ...drafts];
}

/** What was brought in. */
export function importShape(original: OriginalLog, sealed: readonly SealedEvent[]): RecordImportShape {
  const live = new Set<string>();
  for (const { op, id } of original.events) {
    if (op === "delete") live.delete(id);
    else live.add(id);
  }
  return {
    source: "chronomemory",
    events: original.events.length,
    records: live.size,
    rounded: original.rounded,
    seqs: [sealed[0]?.seq ?? 0, sealed.at(-1)?.seq ?? 0],
    head: { ...original.head },
  };
}
