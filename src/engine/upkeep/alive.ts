import { decodeBase, type BaseBatch } from "../../core/log/base.ts";
import { checkLine, parseLine } from "../../core/log/chain.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Head, LogEvent } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { HistoryAnchor } from "../../core/log/history-anchor.ts";
import type { GivenUpPrivates } from "../../core/records/prune-record.ts";
import type { BlobStore } from "../../storage/blob-store.ts";
import type { EventLog, LogPosition } from "../../storage/event-log.ts";
import { type GivenUp, HistoryNeeds, type PrivateKind, privateContents } from "../log/history-needs.ts";
import { baseOf } from "../log/project.ts";
import { refuseOtherHistory } from "../log/history-start.ts";

async function* rowsOfBase(blobs: BlobStore, base: Hash): AsyncGenerator<BaseBatch> {
  const reader = await blobs.open(base);
  if (reader === undefined) {
    throw new ChronicleError("BLOB_MISSING", `the base ${base} is not in the store`, {
      hint: "nothing is freed; run `chronicle verify` to see what else is missing",
      data: { hash: base },
    });
  }
  yield* decodeBase(reader.pieces());
}

export interface AliveOptions extends GivenUp {
  /**
   * The first event to read (`position`), and the event before it (`prev`). Default: all events are read.
   */
  readonly from?: { readonly position: LogPosition; readonly prev: Head };
  /** The event after which the log starts, if the log starts neither at event 1 nor with a compaction. */
  readonly anchor?: HistoryAnchor | undefined;
  /** Events that the log must have: the kept head, and the head of the index. */
  readonly anchors: readonly Head[];
  /** The present time, in milliseconds since the epoch. Kept-aside contents that expired before now are not needed. */
  readonly now: number;
  /** Called for each private content instead of yielding it. Default: private contents are yielded as well. */
  readonly onPrivate?: (hash: Hash, kind: PrivateKind) => void;
  /** Called once if private contents were given up because they exceeded the budget. */
  readonly onGivenUp?: (privates: GivenUpPrivates) => void;
}

/**
 * Yields every content that a workspace's history needs. If the needed contents cannot be determined, throws an error,
 * so that the caller frees nothing:
 * - `LOG_DAMAGED` if a line cannot be read, or does not continue the line before it.
 * - `ROLLBACK_DETECTED` if an event of `anchors` is missing or has another hash.
 * - `BLOB_MISSING` if a base is not in the store.
 */
export async function* aliveContents(log: EventLog, blobs: BlobStore, options: AliveOptions): AsyncGenerator<Hash> {
  const { from, anchors, anchor } = options;
  const wanted = new Map(anchors.map((anchor) => [anchor.seq, anchor.hash]));
  const found: Hash[] = [];
  const needs = new HistoryNeeds(options, ({ hash }) => found.push(hash));
  let prev: Head | undefined = from?.prev ?? anchor;
  if (from === undefined && anchor !== undefined) {
    yield anchor.base;
    for await (const batch of rowsOfBase(blobs, anchor.base)) needs.rows(batch, anchor, "");
    yield* found.splice(0);
  }
  // One read covers the archived log files and the present log file. A file that is moved into the archive during the
  // read is therefore not missed.
  for await (const lines of log.read(from?.position ?? { seq: 1, offset: 0 })) {
    for (const line of lines) {
      const event = nextEvent(line.bytes, prev);
      prev = event;
      checkAnchor(event, wanted.get(event.seq));
      needs.event(event, "");
      const base = baseOf(event);
      if (base !== undefined) for await (const batch of rowsOfBase(blobs, base)) needs.rows(batch, event, "");
      yield* found.splice(0);
    }
  }
  const last = prev?.seq ?? 0;
  for (const seq of wanted.keys()) if (seq > last) throw rolledBack(last, seq);
  needs.finish();
  yield* found;
  if (needs.givenUpPrivates !== undefined) options.onGivenUp?.(needs.givenUpPrivates);
  for await (const { hash, kind } of privateContents(blobs, needs, options.now)) {
    if (options.onPrivate === undefined) yield hash;
    else options.onPrivate(hash, kind);
  }
}

function nextEvent(bytes: Uint8Array, prev: Head | undefined): LogEvent {
  if (prev === undefined) return firstEvent(bytes);
  const checked = checkLine(bytes, prev);
  if ("event" in checked) return checked.event;
  throw new ChronicleError("LOG_DAMAGED", `the log is damaged at event ${prev.seq + 1}: ${checked.fault.detail}`, {
    hint: "nothing is freed; run `chronicle verify` for the whole list",
    data: { seq: prev.seq + 1 },
  });
}

/** Returns the event of the first line, which must be event 1 or a compaction's sentinel. */
function firstEvent(bytes: Uint8Array): LogEvent {
  const event = parseLine(bytes);
  refuseOtherHistory(event);
  if (event.seq === 1 || event.op === "compact") return event;
  throw new ChronicleError("LOG_DAMAGED", `the log begins with event ${event.seq}`, {
    hint: "nothing is freed; run `chronicle verify` for the whole list",
  });
}

function checkAnchor({ seq, hash }: LogEvent, wanted: Head["hash"] | undefined): void {
  if (wanted === undefined || wanted === hash) return;
  throw new ChronicleError("ROLLBACK_DETECTED", `event ${seq} is not the one that was recorded: the log was replaced`, {
    hint: "nothing is freed until the right log is put back (see `chronicle verify`)",
  });
}

function rolledBack(last: number, seq: number): ChronicleError {
  return new ChronicleError(
    "ROLLBACK_DETECTED",
    `the log ends at event ${last}, but event ${seq} was recorded before`,
    { hint: "nothing is freed until the right log is put back (see `chronicle verify`)" },
  );
}
