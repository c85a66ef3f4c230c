import { checkLine } from "../../core/log/chain.ts";
import { markOf } from "../../core/log/commit-mark.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Head, LogEvent } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { LogPosition } from "../../storage/event-log.ts";
import type { EventRow } from "../../storage/index-store.ts";
import type { HistoryContext } from "../log/context.ts";
import { DAMAGED_LINE } from "../log/damaged-log.ts";
import { isInBase } from "../log/read-base.ts";
import { readEvent, wholeOrNone } from "../log/read-events.ts";

// Reads the Merkle roots that the log states, and the lines after them, from the log itself.

/** The Merkle root after an event, as the event's own line of the log states it. */
export interface StatedRoot extends Head {
  readonly root: Hash;
  /** The position of the next line. */
  readonly next: LogPosition;
}

/**
 * Returns the nearest root at or before event `seq`; `undefined` if none is known. The index only says where to read,
 * and the line of the root is checked by its own hash. If the index lacks a root, an earlier root is returned, so that
 * the caller has to read more lines. In a mirror with an anchor, the root of the anchor is the earliest one. Throws
 * `INTEGRITY_VIOLATION` if the line states no root.
 */
export async function nearestRoot(context: HistoryContext, seq: number): Promise<StatedRoot | undefined> {
  const { anchor, index } = context;
  const commit = await index.rootedCommit(seq);
  const row = commit === undefined ? undefined : await index.locate(commit.last);
  if (row !== undefined && !isInBase(row)) return rootIn(context, row);
  if (anchor === undefined || anchor.seq > seq) return undefined;
  const { seq: at, hash, root } = anchor;
  return { seq: at, hash, root, next: { seq: at + 1, offset: 0 } };
}

async function rootIn(context: HistoryContext, row: EventRow): Promise<StatedRoot> {
  const { event, next } = await provedEvent(context, row);
  const root = markOf(event)?.root;
  if (root === undefined) {
    throw new ChronicleError("INTEGRITY_VIOLATION", `the index is wrong about the root at event ${row.seq}`);
  }
  return { seq: event.seq, hash: event.hash, root, next };
}

/**
 * Returns the event of a row, whose line was checked by its own hash, and the position of the next line. Throws
 * `LOG_DAMAGED` if the line does not have the event's hash, and the errors of `readEvent`.
 */
export async function provedEvent(
  context: HistoryContext,
  row: EventRow,
): Promise<{ readonly event: LogEvent; readonly next: LogPosition }> {
  for await (const lines of context.log.read({ seq: row.seq, offset: row.offset })) {
    const [first] = lines;
    if (first === undefined) continue;
    const event = wholeOrNone(first.bytes);
    if (event?.seq !== row.seq || event.hash !== row.hash) break;
    return { event, next: { seq: row.seq + 1, offset: first.offset + first.bytes.length + 1 } };
  }
  // If the index is wrong, `readEvent` throws an error. If `readEvent` throws no error, the line is damaged.
  await readEvent(context, row);
  throw new ChronicleError("LOG_DAMAGED", `event ${row.seq} is damaged: its hash is not that of its content`, {
    hint: DAMAGED_LINE,
    data: { seq: row.seq, offset: row.offset },
  });
}

/** The last event that was read, and the position of the line after it. */
export interface ReadTo extends Head {
  readonly next: LogPosition;
}

/**
 * Reads the events after `from` up to event `upTo`, and passes each to `take`. Each event must continue the event
 * before it. Returns the last event that was read. Throws `LOG_DAMAGED` if a line is damaged, or if the log ends before
 * `upTo`.
 */
export async function linesBehind(
  context: HistoryContext,
  from: ReadTo,
  { upTo, take }: { readonly upTo: number; readonly take: (event: LogEvent) => void },
): Promise<ReadTo> {
  let at = from;
  if (at.seq >= upTo) return at;
  for await (const lines of context.log.read(from.next)) {
    for (const line of lines) {
      const checked = checkLine(line.bytes, at);
      if ("fault" in checked) throw damagedBehind(at, checked.fault.detail);
      const { event } = checked;
      take(event);
      const { seq, hash } = event;
      at = { seq, hash, next: { seq: seq + 1, offset: line.offset + line.bytes.length + 1 } };
      if (seq === upTo) return at;
    }
  }
  throw damagedBehind(at, "the log ends after this event");
}

function damagedBehind({ seq }: Head, why: string): ChronicleError {
  return new ChronicleError("LOG_DAMAGED", `the log is damaged after event ${seq}: ${why}`, {
    hint: DAMAGED_LINE,
    data: { seq: seq + 1 },
  });
}
