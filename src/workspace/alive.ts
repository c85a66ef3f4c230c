import { decodeBase, type BaseBatch } from "../core/base.ts";
import { checkLine, parseLine } from "../core/chain.ts";
import { contentsOfConflict, decodeConflict } from "../core/conflict-record.ts";
import { ChronicleError } from "../core/errors.ts";
import type { Head, LogEvent } from "../core/event.ts";
import { isHash, type Hash } from "../core/hash.ts";
import { decodeIntent } from "../core/records.ts";
import type { BlobStore } from "../storage/blob-store.ts";
import type { EventLog, LogPosition } from "../storage/event-log.ts";
import { baseOf } from "./project.ts";

/**
 * Contents that a record needs: an iteration's content (outside of the workspace too), a snapshot's filter, an open intent's plan and what is new in it,
 * both sides of an open conflict.
 */
function contentsOfRecord({ recordId, record }: Pick<LogEvent, "recordId" | "record">): Hash[] {
  const hashes: Hash[] = [];
  const add = (value: unknown): void => {
    if (typeof value === "string" && isHash(value)) hashes.push(value);
  };
  if (recordId.startsWith("file") || recordId.startsWith("outside")) add(record["hash"]);
  else if (recordId.startsWith("snapshot:")) add(record["filter"]);
  else if (recordId.startsWith("conflict:") && record["state"] === "open")
    hashes.push(...contentsOfConflict(decodeConflict(record)));
  else if (recordId.startsWith("intent:") && record["state"] === "open") {
    const { plan, contents = [], conflicts = [] } = decodeIntent(record);
    hashes.push(plan, ...contents, ...conflicts.flatMap((one) => contentsOfConflict(one.record)));
  }
  return hashes;
}

/** Contents that an event needs: its record's, and the base that it names. */
export function contentsOf(event: LogEvent): readonly Hash[] {
  const base = baseOf(event);
  return base === undefined ? contentsOfRecord(event) : [...contentsOfRecord(event), base];
}

/** Contents that some rows of a base need. The bases of its snapshots are not among them: they were compacted away. */
export function contentsOfRows({ entries = [], records = [] }: BaseBatch): Hash[] {
  return [...entries.flatMap(({ entry }) => entry?.hash ?? []), ...records.flatMap(contentsOfRecord)];
}

/** The contents that the rows of a base need. Throws `BLOB_MISSING`. */
async function* contentsOfBase(blobs: BlobStore, base: Hash): AsyncGenerator<Hash> {
  const reader = await blobs.open(base);
  if (reader === undefined) {
    throw new ChronicleError("BLOB_MISSING", `the base ${base} is not in the store`, {
      hint: "nothing is freed; run `chronicle verify` to see what else is missing",
      data: { hash: base },
    });
  }
  for await (const batch of decodeBase(reader.pieces())) yield* contentsOfRows(batch);
}

/** Where a history is read from, and what is known of it from elsewhere. */
export interface AliveOptions {
  /** Only what its events from there on need; `prev` is the event before. */
  readonly from?: { readonly position: LogPosition; readonly prev: Head };
  /** Events that the log must hold: those of the kept head, of the index. */
  readonly anchors: readonly Head[];
}

/**
 * Every content that a workspace's history needs. Throws `LOG_DAMAGED` at a line that cannot be read or does not go on
 * from the one before, `ROLLBACK_DETECTED` where an anchor is missing, `BLOB_MISSING` for a base: nothing is freed while
 * it is not known what a history needs.
 */
export async function* aliveContents(log: EventLog, blobs: BlobStore, options: AliveOptions): AsyncGenerator<Hash> {
  const { from, anchors } = options;
  const wanted = new Map(anchors.map((anchor) => [anchor.seq, anchor.hash]));
  const openPlans = new Map<string, readonly Hash[]>();
  let prev = from?.prev;
  // One reading through the archive: a log that is sealed meanwhile must not be missed.
  for await (const lines of log.read(from?.position ?? { seq: 1, offset: 0 })) {
    for (const line of lines) {
      const event = nextEvent(line.bytes, prev);
      prev = event;
      checkAnchor(event, wanted.get(event.seq));
      if (event.recordId.startsWith("intent:")) trackPlan(openPlans, event);
      else yield* contentsOf(event);
      const base = baseOf(event);
      if (base !== undefined) yield* contentsOfBase(blobs, base);
    }
  }
  const last = prev?.seq ?? 0;
  for (const seq of wanted.keys()) if (seq > last) throw rolledBack(last, seq);
  for (const hashes of openPlans.values()) yield* hashes;
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

/** A history begins with event 1, or with a compaction's sentinel. */
function firstEvent(bytes: Uint8Array): LogEvent {
  const event = parseLine(bytes);
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

function trackPlan(openPlans: Map<string, readonly Hash[]>, event: LogEvent): void {
  const hashes = contentsOf(event);
  if (hashes.length === 0) openPlans.delete(event.recordId);
  else openPlans.set(event.recordId, hashes);
}
