import { canonicalJson } from "../values/canonical-json.ts";
import { ChronicleError } from "../values/errors.ts";
import type { Head, LogEvent, RecordBody, SealedEvent } from "../values/event.ts";
import { type Hash, isHash } from "../values/hash.ts";
import { LogTree } from "../log/log-tree.ts";

/** A live record of a record store. `text` is the exact canonical text of the record's body. */
export interface StateRecord {
  readonly op: "upsert" | "migrate";
  readonly recordId: string;
  readonly recursionDepth: number;
  readonly seq: number;
  readonly text: string;
  readonly ts: string;
}

/**
 * The state of a record store: all live records, the head and the log tree. The head and the log tree are needed to
 * append the next event.
 */
export class RecordState {
  readonly #records = new Map<string, StateRecord>();
  #tree = new LogTree();
  #bytes = 0;
  #head: Head = { seq: 0, hash: "" };
  #ts = "";
  #store: string | undefined;

  /**
   * Builds a state from its rows. `at`: the head of the state, the frontier of its log tree, and the time of its last
   * event. Throws `INTEGRITY_VIOLATION` if the frontier does not fit the head.
   */
  static from(
    at: { readonly head: Head; readonly frontier: readonly Hash[]; readonly ts: string },
    rows: Iterable<StateRecord>,
  ): RecordState {
    const state = new RecordState();
    state.#tree = new LogTree(at.frontier, at.head.seq);
    state.#head = at.head;
    state.#ts = at.ts;
    for (const row of rows) state.#put(row);
    return state;
  }

  get head(): Head {
    return this.#head;
  }

  /** The time of the last event; `""` if there is none. */
  get ts(): string {
    return this.#ts;
  }

  /** The frontier of the log tree: the roots of its perfect subtrees. */
  get frontier(): readonly Hash[] {
    return this.#tree.frontier();
  }

  /** The store's id, which the record of event 1 names; `undefined` while there is no event. */
  get storeId(): string | undefined {
    return this.#store;
  }

  /** The number of live records, including Chronicle's own records. */
  get size(): number {
    return this.#records.size;
  }

  /** The approximate length of the records as text, in characters. */
  get textLength(): number {
    return this.#bytes;
  }

  get(recordId: string): StateRecord | undefined {
    return this.#records.get(recordId);
  }

  records(): Iterable<StateRecord> {
    return this.#records.values();
  }

  /** Applies the event that follows the head. `text` is the canonical text of the event's record. */
  apply(event: LogEvent, text: string): void {
    const { seq, hash, ts, recordId, recursionDepth, op } = event;
    this.#head = { seq, hash };
    this.#ts = ts;
    this.#tree.append(hash);
    if (op === "delete") this.#remove(recordId);
    else if (op !== "compact") this.#put({ op, recordId, recursionDepth, seq, text, ts });
  }

  #put(row: StateRecord): void {
    this.#remove(row.recordId);
    this.#records.set(row.recordId, row);
    this.#bytes += row.text.length;
    if (row.recordId.startsWith("store:")) this.#store = row.recordId.slice("store:".length);
  }

  #remove(recordId: string): void {
    this.#bytes -= this.#records.get(recordId)?.text.length ?? 0;
    this.#records.delete(recordId);
  }
}

/**
 * Returns the canonical text of an event's record. The text is cut out of `line`: the bytes of the event's line in the
 * log, which must be whole and canonical.
 */
export function recordText(line: Buffer, event: LogEvent): string {
  const { recordId, recursionDepth, seq, ts, op, prevHash, hash } = event;
  const start = `{"hash":"${hash}","op":"${op}","prev_hash":"${prevHash}","record":`.length;
  const tail = tailOf({ recordId, recursionDepth, seq, ts });
  return line.subarray(start, line.length - Buffer.byteLength(tail)).toString("utf8");
}

/**
 * Returns the canonical text of the record of an event that was just sealed. The text is cut out of the event's line.
 */
export function sealedText(event: SealedEvent): string {
  const { op, prevHash, hash, line } = event;
  const start = `{"hash":"${hash}","op":"${op}","prev_hash":"${prevHash}","record":`.length;
  return line.slice(start, line.length - tailOf(event).length);
}

function tailOf({ recordId, recursionDepth, seq, ts }: Omit<StateRecord, "op" | "text">): string {
  return `,"record_id":${JSON.stringify(recordId)},"recursion_depth":${recursionDepth},"seq":${seq},"ts":"${ts}"}`;
}

/** Encodes a row of a checkpoint or base: canonical JSON of `{op, record, record_id, recursion_depth, seq, ts}`. */
export function encodeStateRow(row: StateRecord): string {
  return `{"op":"${row.op}","record":${row.text}${tailOf(row)}`;
}

/** Decodes the record in a row. Throws `INTEGRITY_VIOLATION` if the text is not a row. */
export function decodeStateRow(text: string): StateRecord {
  const parsed = parseObject(text);
  const { op, record_id: recordId, recursion_depth: recursionDepth, seq, ts, record } = parsed;
  const isRow =
    (op === "upsert" || op === "migrate") &&
    typeof recordId === "string" &&
    Number.isSafeInteger(recursionDepth) &&
    Number.isSafeInteger(seq) &&
    typeof ts === "string" &&
    record !== null &&
    typeof record === "object";
  if (!isRow) throw notState("a row is not a record");
  const [depth, at] = [recursionDepth as number, seq as number];
  const row = { op, recordId, recursionDepth: depth, seq: at, ts } as const;
  const body = text.slice(`{"op":"${op}","record":`.length, text.length - tailOf(row).length);
  const found = { ...row, text: body };
  if (encodeStateRow(found) !== text) throw notState("a row is not canonical");
  return found;
}

export interface StateHeader {
  readonly format: 2;
  readonly frontier: readonly Hash[];
  readonly hash: Hash;
  /** The byte offset in `events.wal` right after the line of the event `seq`; 0 in a base. */
  readonly offset: number;
  readonly seq: number;
  readonly store: string;
  readonly ts: string;
}

export function encodeStateHeader(header: StateHeader): string {
  const { format, frontier, hash, offset, seq, store, ts } = header;
  const text = canonicalJson({ format, frontier, hash, offset, seq, store, ts });
  return `${text.slice(0, -1)},"records":[`;
}

/** Decodes the header in the text that precedes the rows. Throws `INTEGRITY_VIOLATION` for an invalid header. */
export function decodeStateHeader(text: string): StateHeader {
  const { format, frontier, hash, offset, seq, store, ts } = parseObject(`${text}]}`);
  const isHeader =
    format === 2 &&
    Array.isArray(frontier) &&
    frontier.every((one) => typeof one === "string" && isHash(one)) &&
    typeof hash === "string" &&
    isHash(hash) &&
    Number.isSafeInteger(offset) &&
    Number.isSafeInteger(seq) &&
    typeof store === "string" &&
    typeof ts === "string";
  if (!isHeader) throw notState("its header is not one of format 2");
  const hashes = frontier as readonly Hash[];
  return { format, frontier: hashes, hash, offset: offset as number, seq: seq as number, store, ts };
}

function parseObject(text: string): RecordBody {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw notState("it is not JSON", cause);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw notState("it is not an object");
  return value as RecordBody;
}

/** Returns the `INTEGRITY_VIOLATION` error for bytes that are not a state. */
export function notState(reason: string, cause?: unknown): ChronicleError {
  return new ChronicleError("INTEGRITY_VIOLATION", `not the state of a record store: ${reason}`, { cause });
}
