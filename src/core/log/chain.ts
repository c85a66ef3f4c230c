import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { canonicalFault, canonicalJson } from "../values/canonical-json.ts";
import { ChronicleError } from "../values/errors.ts";
import type { EventDraft, EventOp, Head, Json, LogEvent, RecordBody, SealedEvent } from "../values/event.ts";
import { type Hash, isHash, sha256 } from "../values/hash.ts";

/**
 * The hash chain of the log. One event is one line of canonical JSON with eight fields, in this order:
 * `hash op prev_hash record record_id recursion_depth seq ts`.
 *
 *     payload = {op, record, record_id, recursion_depth, seq, ts}
 *     hash    = SHA-256( prev_hash as 64 ASCII hex digits, or nothing at seq 1 ‖ canonical_json(payload) )
 *
 * The text of the payload is the line without `hash` and `prev_hash`. Therefore, neither the writer nor the reader
 * serialises twice.
 */

/** The maximum length, in bytes, of a line without its newline. */
export const MAX_LINE_BYTES = 64 * 1024 * 1024;

/**
 * The fault of a line. For `bad-seq` and `bad-prev`, the line itself is sound, but does not follow the previous line.
 * `not-json` is also the fault of a line that is too long or not UTF-8.
 */
export interface LineFault {
  readonly kind: "not-json" | "not-canonical" | "bad-field" | "bad-hash" | "bad-seq" | "bad-prev";
  /** A text for messages. If a value differs from an expected value, the text has both. */
  readonly detail: string;
  /**
   * The event of the line. Set only if the line itself is sound (`bad-seq`, `bad-prev`). A verifier continues from this
   * event.
   */
  readonly event?: LogEvent;
}

const FIELDS = ["hash", "op", "prev_hash", "record", "record_id", "recursion_depth", "seq", "ts"] as const;
const OPS: ReadonlySet<string> = new Set<EventOp>(["upsert", "delete", "compact", "migrate"]);
const TIMESTAMP = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** Returns true for a time in the log's format: ISO 8601, UTC, milliseconds (`2026-01-31T09:30:00.000Z`). */
export function isTimestamp(text: string): boolean {
  return TIMESTAMP.test(text);
}

/** Returns true if the numbers of the record must be integers. Only records of users may have other numbers. */
function mustHoldIntegers(recordId: string): boolean {
  return !recordId.startsWith("user:");
}

/**
 * Turns drafts into the events that follow `head`, all with the time `ts` (ISO 8601 UTC, milliseconds). Throws
 * `LIMIT_EXCEEDED` for a line longer than `MAX_LINE_BYTES`. Throws `INTEGRITY_VIOLATION` in three cases:
 * - `ts` has another format.
 * - The head has a hash at seq 0, or has no hash at another seq.
 * - The log cannot hold a draft: a fraction outside of `user:` records, a lone surrogate, an empty record id, or a
 *   delete with a record.
 */
export function sealEvents(head: Head, drafts: readonly EventDraft[], ts: string): SealedEvent[] {
  if (!isTimestamp(ts))
    throw new ChronicleError("INTEGRITY_VIOLATION", `not a time for the log: ${JSON.stringify(ts)}`);
  if ((head.seq === 0) !== (head.hash === "")) {
    throw new ChronicleError("INTEGRITY_VIOLATION", `a head at seq ${head.seq} cannot have the hash "${head.hash}"`);
  }
  const events: SealedEvent[] = [];
  let last = head;
  for (const draft of drafts) {
    const event = seal(last, draft, ts);
    events.push(event);
    last = event;
  }
  return events;
}

function seal(head: Head, draft: EventDraft, ts: string): SealedEvent {
  const { op, recordId, record, recursionDepth = 0 } = draft;
  const seq = head.seq + 1;
  const fault = fieldFault({ op, recordId, record, recursionDepth, seq, ts });
  if (fault !== undefined) throw new ChronicleError("INTEGRITY_VIOLATION", `the event is refused: ${fault}`);
  const recordText = canonicalJson(record, { integers: mustHoldIntegers(recordId), outer: 1 });
  const tail = `"record":${recordText},"record_id":${canonicalJson(recordId)},"recursion_depth":${recursionDepth},"seq":${seq},"ts":"${ts}"}`;
  const hash = sha256(`${head.hash}{"op":"${op}",${tail}`);
  const line = `{"hash":"${hash}","op":"${op}","prev_hash":"${head.hash}",${tail}`;
  if (line.length > MAX_LINE_BYTES / 3 && Buffer.byteLength(line) > MAX_LINE_BYTES) {
    throw new ChronicleError(
      "LIMIT_EXCEEDED",
      `the record ${recordId} makes a line longer than ${MAX_LINE_BYTES} bytes`,
    );
  }
  return { seq, ts, op, recordId, record, prevHash: head.hash, hash, recursionDepth, line };
}

function fieldFault(event: Omit<LogEvent, "hash" | "prevHash">): string | undefined {
  const { op, recordId, recursionDepth, seq, ts } = event;
  if (typeof op !== "string" || !OPS.has(op)) return `op is ${show(op)}`;
  if (typeof recordId !== "string" || recordId === "") return `record_id is ${show(recordId)}`;
  if (!isCount(recursionDepth)) return `recursion_depth is ${show(recursionDepth)}`;
  if (!isCount(seq) || seq === 0) return `seq is ${show(seq)}`;
  if (typeof ts !== "string" || !isTimestamp(ts)) return `ts is ${show(ts)}`;
  return recordFault(event);
}

function recordFault({ op, record }: Pick<LogEvent, "op" | "record">): string | undefined {
  if (record === null || typeof record !== "object" || Array.isArray(record)) return "record is not an object";
  return op === "delete" && Object.keys(record).length > 0 ? "a delete has a record that is not empty" : undefined;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function show(value: unknown): string {
  if (value !== null && typeof value === "object") return Array.isArray(value) ? "an array" : "an object";
  const text = JSON.stringify(value) ?? "missing";
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/**
 * Parses one line (without its newline). Checks the line on its own: UTF-8, canonical JSON, exactly the eight fields,
 * and the recomputed hash. Throws `LOG_DAMAGED` with the reason. `data.kind` of the error is the kind of the fault.
 */
export function parseLine(bytes: Uint8Array): LogEvent {
  const result = readLine(bytes);
  if ("event" in result) return result.event;
  const { kind, detail } = result.fault;
  throw new ChronicleError("LOG_DAMAGED", `the line is damaged: ${detail}`, { data: { kind } });
}

/**
 * Checks a line as `parseLine` does, and also checks whether it follows the previous event (`prev`). Returns a fault
 * instead of throwing an error.
 */
export function checkLine(bytes: Uint8Array, prev: Head): { readonly event: LogEvent } | { readonly fault: LineFault } {
  const result = readLine(bytes);
  if ("fault" in result) return result;
  const { event } = result;
  if (event.seq !== prev.seq + 1) {
    return { fault: { kind: "bad-seq", detail: `seq is ${event.seq}, expected ${prev.seq + 1}`, event } };
  }
  if (event.prevHash !== prev.hash) {
    const detail = `prev_hash is "${event.prevHash}", the event before has "${prev.hash}"`;
    return { fault: { kind: "bad-prev", detail, event } };
  }
  return result;
}

/**
 * Parses a line of a trusted log. Checks only that the line is JSON with the eight fields, not its hash or its
 * canonical form. Replay uses this function because it is several times faster than `parseLine`. The chain is checked
 * elsewhere. Throws `LOG_DAMAGED` if a field is missing or the line is not a JSON object.
 */
export function readEventFast(bytes: Uint8Array): LogEvent {
  const parsed = parseObject(asBuffer(bytes).toString("utf8"));
  const event = parsed === undefined ? undefined : eventOf(parsed);
  if (event === undefined || typeof event === "string") {
    throw new ChronicleError("LOG_DAMAGED", `the line is damaged: ${event ?? "it is not a JSON object"}`);
  }
  return event;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function faulty(kind: LineFault["kind"], detail: string): { readonly fault: LineFault } {
  return { fault: { kind, detail } };
}

function readLine(line: Uint8Array): { readonly event: LogEvent } | { readonly fault: LineFault } {
  const bytes = asBuffer(line);
  if (bytes.length > MAX_LINE_BYTES) return faulty("not-json", `it is longer than ${MAX_LINE_BYTES} bytes`);
  if (!isUtf8(bytes)) return faulty("not-json", "it is not UTF-8");
  const text = bytes.toString("utf8");
  const parsed = parseObject(text);
  if (parsed === undefined) return faulty("not-json", "it is not a JSON object");
  const keys = Object.keys(parsed);
  const unknown = keys.find((key) => !(FIELDS as readonly string[]).includes(key));
  if (unknown !== undefined) return faulty("bad-field", `it has the unknown field ${show(unknown)}`);
  const event = eventOf(parsed);
  if (typeof event === "string") return faulty("bad-field", event);
  const fault = lineFieldFault(event);
  if (fault !== undefined) return faulty("bad-field", fault);
  const form = canonicalFault(text, parsed as Json, { integers: mustHoldIntegers(event.recordId) });
  if (form !== undefined) {
    const numbersOnly = canonicalFault(text, parsed as Json) === undefined;
    return faulty(numbersOnly ? "bad-field" : "not-canonical", form);
  }
  const computed = hashOf(bytes, event);
  if (computed !== event.hash) return faulty("bad-hash", `hash is ${event.hash}, its content gives ${computed}`);
  return { event };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return value !== null && typeof value === "object" && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

/**
 * Returns the event, or a text that names a missing field. Does not check the types of the fields (see
 * `lineFieldFault`).
 */
function eventOf(parsed: Readonly<Record<string, unknown>>): LogEvent | string {
  for (const field of FIELDS) if (parsed[field] === undefined) return `${field} is missing`;
  return {
    seq: parsed["seq"] as number,
    ts: parsed["ts"] as string,
    op: parsed["op"] as EventOp,
    recordId: parsed["record_id"] as string,
    record: parsed["record"] as RecordBody,
    prevHash: parsed["prev_hash"] as Hash | "",
    hash: parsed["hash"] as Hash,
    recursionDepth: parsed["recursion_depth"] as number,
  };
}

function lineFieldFault(event: LogEvent): string | undefined {
  const fault = fieldFault(event);
  if (fault !== undefined) return fault;
  const { seq, hash, prevHash } = event;
  if (typeof hash !== "string" || !isHash(hash)) return `hash is ${show(hash)}`;
  if (typeof prevHash !== "string" || (prevHash !== "" && !isHash(prevHash))) return `prev_hash is ${show(prevHash)}`;
  // Without this rule, it would not be clear where `prev_hash` ends in the input of SHA-256 (`prev_hash` ‖ payload).
  if ((seq === 1) !== (prevHash === ""))
    return `prev_hash is ${show(prevHash)} at seq ${seq}, but only the event with seq 1 has an empty prev_hash`;
  return undefined;
}

// The buffer is reused for every line, because its content is needed only during one call of `hashOf`.
const scratch = Buffer.allocUnsafe(64 * 1024);

/** Computes the hash of a line that is known to be canonical, from slices of its bytes. */
function hashOf(line: Buffer, event: LogEvent): Hash {
  const { op, prevHash } = event;
  const start = `${prevHash}{"op":"${op}",`;
  const recordAt = '{"hash":"","op":"","prev_hash":"",'.length + event.hash.length + op.length + prevHash.length;
  const rest = line.subarray(recordAt);
  if (start.length + rest.length > scratch.length) {
    return createHash("sha256").update(start, "latin1").update(rest).digest("hex") as Hash;
  }
  scratch.write(start, 0, "latin1");
  scratch.set(rest, start.length);
  return sha256(scratch.subarray(0, start.length + rest.length));
}
