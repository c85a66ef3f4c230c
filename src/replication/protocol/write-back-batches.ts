import { ChronicleError } from "../../core/values/errors.ts";
import { MAX_ENTRIES, MAX_HEAD_BYTES, MAX_PIECE_BYTES } from "./limits.ts";
import type { MessageOf } from "./messages.ts";

type WriteBack = MessageOf<"WriteBack">;

export type WriteBackEntry = WriteBack["entries"][number];

/** The number of bytes that are reserved in a head for fields other than the entries. */
const SPARE_BYTES = 1024;

/**
 * Packs entries, in order, into as few messages as the limits of a frame allow. Throws `LIMIT_EXCEEDED` for an entry
 * that is too long for a frame, which no valid entry is.
 */
export function* writeBacksOf(sandboxId: string, entries: Iterable<WriteBackEntry>): Generator<WriteBack> {
  let batch: WriteBackEntry[] = [];
  let head = SPARE_BYTES;
  let body = 0;
  for (const entry of entries) {
    const own = headBytes(entry);
    const inline = entry.inline_content?.length ?? 0;
    if (own > MAX_HEAD_BYTES - SPARE_BYTES)
      throw new ChronicleError("LIMIT_EXCEEDED", `entry ${entry.local_seq} is too long for a frame`);
    const isFull = batch.length === MAX_ENTRIES || head + own > MAX_HEAD_BYTES || body + inline > MAX_PIECE_BYTES;
    if (isFull) {
      yield { type: "WriteBack", sandbox_id: sandboxId, entries: batch };
      batch = [];
      head = SPARE_BYTES;
      body = 0;
    }
    batch.push(entry);
    head += own;
    body += inline;
  }
  if (batch.length > 0) yield { type: "WriteBack", sandbox_id: sandboxId, entries: batch };
}

/** Returns the length, in bytes, of an entry in the head, including the comma after the entry. */
function headBytes(entry: WriteBackEntry): number {
  const { inline_content, ...rest } = entry;
  const length = inline_content === undefined ? {} : { inline_content: inline_content.length };
  return Buffer.byteLength(JSON.stringify({ ...rest, ...length })) + 1;
}
