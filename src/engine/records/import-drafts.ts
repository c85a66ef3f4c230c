import type { RecordImportShape, UnverifiedImportShape } from "../../api/record-api.ts";
import type { OriginalLog } from "../../core/log/chronomemory.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { EventDraft, RecordBody, SealedEvent } from "../../core/values/event.ts";
import { checkedDepth, plainRecord, userRecordId } from "./check-record.ts";
import { optional } from "../../util/optional.ts";

/**
 * Returns the events that an original log becomes. First comes one `import:` record, which keeps what our own events
 * have no place for: the times of the original, its head, the file's hash, and what nothing vouches for. Then come the
 * records from a checkpoint, then one event for each of the original's. Records are not changed: a reader gets exactly
 * what was put into the original.
 */
export function importDrafts(original: OriginalLog, importId: string): EventDraft[] {
  const { events, checkpoint } = original;
  const about: EventDraft = { op: "upsert", recordId: `import:${importId}`, record: aboutImport(original) };
  const taken = (checkpoint?.records ?? []).map((one) =>
    keptDraft({ ...one, op: "upsert" }, `the record ${JSON.stringify(one.id)} of the checkpoint`),
  );
  return [about, ...taken, ...events.map((event) => keptDraft(event, `line ${event.line}`, { line: event.line }))];
}

function aboutImport(original: OriginalLog): RecordBody {
  const { events, head, file, rounded } = original;
  const unverified = unverifiedIn(original);
  return {
    source: "chronomemory",
    file_sha256: file,
    head_seq: head.seq,
    head_hash: head.hash,
    events: events.length,
    rounded,
    // The n-th time and seq belong to the n-th event behind this one, and behind those from a checkpoint.
    seqs: events.map((event) => event.seq),
    times: events.map((event) => event.ts),
    ...(unverified === undefined ? {} : { unverified: { ...unverified } }),
  };
}

function unverifiedIn({ checkpoint, tear }: OriginalLog): UnverifiedImportShape | undefined {
  if (checkpoint === undefined && tear === undefined) return undefined;
  const taken = checkpoint && { file_sha256: checkpoint.file, seq: checkpoint.seq, records: checkpoint.records.length };
  return {
    ...optional({ checkpoint: taken }),
    ...(tear === undefined ? {} : { tear: { ...tear } }),
  };
}

interface Kept {
  readonly op: "upsert" | "delete" | "migrate";
  readonly id: string;
  readonly record: RecordBody;
  readonly recursionDepth: number;
}

function keptDraft(
  { op, id, record, recursionDepth }: Kept,
  where: string,
  data: { readonly line?: number } = {},
): EventDraft {
  try {
    const plain = op === "delete" ? {} : plainRecord(record);
    return { op, recordId: userRecordId(id), record: plain, recursionDepth: checkedDepth(recursionDepth) };
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    throw new ChronicleError("REFUSED", `${where} cannot be kept here: ${error.message}`, {
      hint: "nothing was imported",
      data,
      cause: error,
    });
  }
}

/** Returns a summary of what was imported. */
export function importShape(original: OriginalLog, sealed: readonly SealedEvent[]): RecordImportShape {
  const live = new Set(original.checkpoint?.records.map(({ id }) => id));
  const unverified = unverifiedIn(original);
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
    ...optional({ unverified }),
  };
}
