import { isUtf8 } from "node:buffer";
import { ChronicleError } from "../values/errors.ts";
import type { RecordBody, Json } from "../values/event.ts";
import { plainValue, readPythonJson, type PythonJson, pythonText } from "./python-json.ts";
import { sha256 } from "../values/hash.ts";
import { optional } from "../../util/optional.ts";

/**
 * The format of a log of the original chronomemory (`.chronomemory/events.wal`), whose records Chronicle can import.
 * Each line is one JSON object with the fields `seq ts op record_id record prev_hash hash recursion_depth`.
 *
 *     hash = SHA-256( json.dumps({seq, ts, op, record_id, record, prev_hash, recursion_depth},
 *                                sort_keys=True, ensure_ascii=False) ), lower-case hex
 *
 * `prev_hash` is the hash of the previous line; `""` in the first line. `prev_hash` is one of the hashed fields. In
 * Chronicle's own log, `prev_hash` precedes the hashed fields instead.
 */

interface OriginalEvent {
  readonly seq: number;
  readonly ts: string;
  readonly op: "upsert" | "delete" | "migrate";
  readonly id: string;
  /** The record; `{}` for a delete. */
  readonly record: RecordBody;
  readonly recursionDepth: number;
  /** The 1-based number of the event's line in the file. */
  readonly line: number;
}

/** The rest of a log, from the first line that does not verify. */
interface OriginalTear {
  /** The 1-based number of the first line that does not verify. `byte` is the offset of this line's first byte. */
  readonly line: number;
  readonly byte: number;
  /**
   * The number of bytes from the start of the line `line` to the end of the file. `lines` is the number of non-blank
   * lines in this part of the file.
   */
  readonly bytes: number;
  readonly lines: number;
  readonly reason: string;
}

interface TakenCheckpoint {
  readonly records: readonly CheckpointRecord[];
  /** The seq of the last event that the checkpoint covers. */
  readonly seq: number;
  /** The SHA-256 of the checkpoint's file. */
  readonly file: string;
}

/** A log of the original chronomemory. All its events are verified. */
export interface OriginalLog {
  readonly events: readonly OriginalEvent[];
  /**
   * The records from the checkpoint (`snapshot.json`), which no hash covers. Present only if the log was compacted and
   * the caller has passed a checkpoint.
   */
  readonly checkpoint?: TakenCheckpoint;
  /**
   * The part that does not verify. Present only if the caller has asked for the events before this part (`upToTear`).
   */
  readonly tear?: OriginalTear;
  /** The last verified line. If the log is empty, the seq is 0 and the hash is `""`. */
  readonly head: { readonly seq: number; readonly hash: string };
  /** The SHA-256 of the whole file. */
  readonly file: string;
  /** The number of numbers in the events and in the checkpoint that were rounded. */
  readonly rounded: number;
}

const FIELDS = ["hash", "op", "prev_hash", "record", "record_id", "recursion_depth", "seq", "ts"] as const;
const OPS: ReadonlySet<string> = new Set(["upsert", "delete", "migrate", "compact"]);
const NEWLINE = 0x0a;

type Fields = Readonly<Record<(typeof FIELDS)[number], PythonJson>>;

/** A verified line. `event` is `undefined` for a compaction, which changes no record. */
interface VerifiedLine {
  readonly seq: number;
  readonly hash: string;
  readonly event: OriginalEvent | undefined;
  readonly rounded: number;
}

interface ReadOptions {
  /** True to round numbers that a double cannot hold exactly. False to refuse such numbers. */
  readonly roundNumbers: boolean;
  /**
   * The bytes of the checkpoint (`snapshot.json`) from which a compacted log continues. No hash protects these bytes.
   * The checkpoint is needed only if the log begins after seq 1.
   */
  readonly checkpoint?: Uint8Array | undefined;
  /** True to return the events before the first line that does not verify, instead of throwing. Default false. */
  readonly upToTear?: boolean | undefined;
}

/**
 * Reads and verifies a log. Skips blank lines. Throws `INTEGRITY_VIOLATION` for the first line that does not match its
 * hash or does not follow the previous line. The message and `data.line` have the line's number in the file. With
 * `upToTear`, returns the events before that line instead, if there are any. Throws `REFUSED` if the hashes match, but
 * the log cannot be imported. There are four reasons:
 * - The log is compacted, and its checkpoint is missing or does not fit.
 * - A number would be rounded.
 * - A value is nested too deeply.
 * - A value has no form in JSON.
 */
export function readChronomemory(bytes: Uint8Array, options: ReadOptions): OriginalLog {
  const read = readLines(bytes, options);
  const { start, head, tear } = read;
  if (tear !== undefined && head.seq === 0) throw nothingInFront(tear);
  const checkpoint = start === undefined || start.seq === 1 ? undefined : takeCheckpoint(start, read, options);
  return {
    events: read.events,
    head,
    file: sha256(bytes),
    rounded: read.rounded + (checkpoint?.rounded ?? 0),
    ...(checkpoint === undefined ? {} : { checkpoint: checkpoint.taken }),
    ...optional({ tear }),
  };
}

interface ReadLines {
  readonly events: OriginalEvent[];
  /** Maps the seq of each verified line to its hash. */
  readonly hashes: Map<number, string>;
  head: OriginalLog["head"];
  rounded: number;
  /** The line and seq of the compaction with which the log begins. */
  start?: { readonly at: number; readonly seq: number };
  tear?: OriginalTear;
}

function readLines(bytes: Uint8Array, { roundNumbers, upToTear }: ReadOptions): ReadLines {
  const read: ReadLines = { events: [], hashes: new Map(), head: { seq: 0, hash: "" }, rounded: 0 };
  const lines = [...linesOf(bytes)];
  for (const [i, { at, line, text }] of lines.entries()) {
    let verified: VerifiedLine;
    try {
      verified = atLine(at, () => verifyLine(line, text, { at, head: read.head }));
    } catch (error) {
      if (upToTear !== true || !isUnverified(error)) throw error;
      read.tear = tearAt(lines.slice(i), bytes.length, error);
      return read;
    }
    if (verified.rounded > 0 && !roundNumbers) throw wouldRound(`line ${at}`, verified.rounded, { line: at });
    if (verified.event !== undefined) read.events.push(verified.event);
    else if (read.head.seq === 0) read.start = { at, seq: verified.seq };
    read.rounded += verified.rounded;
    read.hashes.set(verified.seq, verified.hash);
    read.head = { seq: verified.seq, hash: verified.hash };
  }
  return read;
}

function isUnverified(error: unknown): error is ChronicleError {
  return error instanceof ChronicleError && error.code === "INTEGRITY_VIOLATION";
}

function tearAt(left: readonly OriginalLine[], length: number, { message }: ChronicleError): OriginalTear {
  const [{ at, start } = { at: 0, start: length }] = left;
  return { line: at, byte: start, bytes: length - start, lines: left.length, reason: message };
}

/**
 * Returns the records of the checkpoint. Leaves out each record that an event of the log has changed at or before the
 * checkpoint's seq. Such events take precedence, because they are verified and the checkpoint is not.
 */
function takeCheckpoint(
  start: { readonly at: number; readonly seq: number },
  { events, hashes, head }: ReadLines,
  { checkpoint: bytes, roundNumbers }: ReadOptions,
): { readonly taken: TakenCheckpoint; readonly rounded: number } {
  if (bytes === undefined) throw compacted(start.at);
  const checkpoint = Checkpoint.read(bytes);
  checkpoint.checkAgainst({ first: start.seq, last: head.seq, hashOf: (seq) => hashes.get(seq) });
  const covered = new Set(events.flatMap(({ seq, id }) => (seq <= checkpoint.seq ? [id] : [])));
  const { records, rounded } = checkpoint.recordsBut(covered);
  if (rounded > 0 && !roundNumbers) throw wouldRound("the checkpoint", rounded);
  return { taken: { records, seq: checkpoint.seq, file: sha256(bytes) }, rounded };
}

interface OriginalLine {
  /** The 1-based number of the line in the file. Blank lines are counted too. */
  readonly at: number;
  readonly start: number;
  readonly line: Buffer;
  readonly text: string;
}

function* linesOf(bytes: Uint8Array): Generator<OriginalLine> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let [at, start] = [1, 0]; start < buffer.length; at += 1) {
    const newline = buffer.indexOf(NEWLINE, start);
    const end = newline < 0 ? buffer.length : newline;
    const line = buffer.subarray(start, end);
    const text = line.toString("utf8");
    if (text.trim() !== "") yield { at, start, line, text };
    start = end + 1;
  }
}

function atLine<T>(at: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.data["line"] !== undefined) throw error;
    if (error.code === "REFUSED") throw unsupported(at, error);
    throw new ChronicleError("INTEGRITY_VIOLATION", `line ${at} does not verify: ${error.message}`, {
      hint: "nothing was imported; check where the file comes from, or mend it from a copy. With --up-to-tear (`upToTear: true`) the lines before the damaged line are imported",
      data: { line: at },
      cause: error,
    });
  }
}

interface Place {
  readonly at: number;
  readonly head: OriginalLog["head"];
}

function verifyLine(line: Buffer, text: string, { at, head }: Place): VerifiedLine {
  if (!isUtf8(line)) refuse("it is not UTF-8");
  const fields = fieldsOf(readPythonJson(text));
  const seq = wholeOf(fields, "seq");
  const op = textOf(fields, "op");
  const hash = textOf(fields, "hash");
  if (!OPS.has(op)) refuse(`op is ${JSON.stringify(op)}`);
  const computed = hashOfFields(fields);
  if (hash !== computed) refuse(`its hash is ${hash}, its content gives ${computed}`);
  // A compaction by the original chronomemory leaves only one line in the log. This line begins a new chain.
  const isStart = op === "compact" && head.seq === 0 && seq >= 1;
  if (!isStart && seq !== head.seq + 1) refuse(`its seq is ${seq}, expected ${head.seq + 1}`);
  const prev = textOf(fields, "prev_hash");
  if (prev !== head.hash) refuse(`its prev_hash is "${prev}", the line before has "${head.hash}"`);
  if (op === "compact") return { seq, hash, event: undefined, rounded: 0 };
  const { value, rounded } = plainValue(fields.record);
  const record = op === "delete" ? {} : objectOf(value);
  const recursionDepth = wholeOf(fields, "recursion_depth");
  const [ts, id] = [textOf(fields, "ts"), textOf(fields, "record_id")];
  const event: OriginalEvent = { seq, ts, op: op as OriginalEvent["op"], id, record, recursionDepth, line: at };
  return { seq, hash, event, rounded: op === "delete" ? 0 : rounded };
}

function fieldsOf(value: PythonJson): Fields {
  if (value.kind !== "object") return refuse("it is not a JSON object");
  for (const field of FIELDS) if (!value.members.has(field)) refuse(`${field} is missing`);
  const unknown = [...value.members.keys()].find((key) => !(FIELDS as readonly string[]).includes(key));
  if (unknown !== undefined) refuse(`it has the unknown field ${JSON.stringify(unknown)}`);
  return Object.fromEntries(value.members) as Fields;
}

function hashOfFields(fields: Fields): string {
  const hashed = Object.entries(fields).filter(([field]) => field !== "hash");
  return sha256(pythonText({ kind: "object", members: new Map(hashed) }));
}

function textOf(fields: Fields, name: keyof Fields): string {
  const field = fields[name];
  return field.kind === "string" ? field.value : refuse(`${name} is not text`);
}

function wholeOf(fields: Fields, name: keyof Fields): number {
  const field = fields[name];
  const number = field.kind === "number" && /^\d+$/.test(field.token) ? Number(field.token) : Number.NaN;
  return Number.isSafeInteger(number) ? number : refuse(`${name} is not a whole number`);
}

function objectOf(value: Json): RecordBody {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return refuse("record is not an object");
  return value as RecordBody;
}

function refuse(reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", reason);
}

function compacted(at: number): ChronicleError {
  return new ChronicleError(
    "REFUSED",
    `line ${at}: this log was compacted: its earlier records are in a snapshot.json that no hash covers`,
    {
      hint: "nothing was imported; import a copy of the log from before the compaction, or accept the unverified snapshot.json with --accept-checkpoint (in the library: pass its bytes as `checkpoint`)",
      data: { line: at },
    },
  );
}

function unsupported(at: number, cause: ChronicleError): ChronicleError {
  return new ChronicleError("REFUSED", `line ${at} is not supported: ${cause.message}`, {
    hint: "nothing was imported; the line may be sound, but Chronicle cannot store its record",
    data: { line: at },
    cause,
  });
}

function nothingInFront({ line, reason }: OriginalTear): ChronicleError {
  return new ChronicleError("INTEGRITY_VIOLATION", reason, {
    hint: `nothing was imported: no verified event precedes line ${line}`,
    data: { line },
  });
}

function wouldRound(where: string, count: number, data: { readonly line?: number } = {}): ChronicleError {
  const numbers = count === 1 ? "a number" : `${count} numbers`;
  return new ChronicleError("REFUSED", `${where} holds ${numbers} that a double cannot hold exactly`, {
    hint: "nothing was imported; with --round-numbers (`roundNumbers: true`), such numbers are rounded",
    data: { ...data, numbers: count },
  });
}

// The checkpoint of the original chronomemory (`.chronomemory/snapshot.json`) is a JSON object with the fields `seq`,
// `last_hash` and `records`. `seq` and `last_hash` are the seq and the hash of the last event that the checkpoint
// covers. Each of the `records` has an `id`. A record whose `status` is `tombstone` is deleted. No hash protects the
// file.

interface CheckpointRecord {
  readonly id: string;
  readonly record: RecordBody;
  readonly recursionDepth: number;
}

interface ContinuingLog {
  readonly first: number;
  readonly last: number;
  readonly hashOf: (seq: number) => string | undefined;
}

type Members = ReadonlyMap<string, PythonJson>;

const TOMBSTONE = "tombstone";

class Checkpoint {
  readonly seq: number;
  readonly #lastHash: string;
  readonly #records: readonly Members[];

  private constructor(seq: number, lastHash: string, records: readonly Members[]) {
    this.seq = seq;
    this.#lastHash = lastHash;
    this.#records = records;
  }

  /** Parses a checkpoint. Throws `REFUSED` if the bytes are not a checkpoint. */
  static read(bytes: Uint8Array): Checkpoint {
    const members = membersOf(parsed(bytes), "it is not a JSON object");
    const seq = wholeIn(members, "seq") ?? refuseCheckpoint("seq is not a whole number");
    const lastHash = textIn(members, "last_hash") ?? refuseCheckpoint("last_hash is not text");
    const records = members.get("records");
    if (records?.kind !== "array") return refuseCheckpoint("records is not a list");
    const ids = new Set<string>();
    const all = records.items.map((one, i) => {
      const record = membersOf(one, `record ${i + 1} is not an object`);
      const id = textIn(record, "id") ?? refuseCheckpoint(`record ${i + 1} has no id`);
      if (ids.has(id)) refuseCheckpoint(`the record ${JSON.stringify(id)} is there twice`);
      ids.add(id);
      return record;
    });
    return new Checkpoint(seq, lastHash, all);
  }

  /**
   * Throws `REFUSED` if the checkpoint does not fit the log. There are three cases: events between the checkpoint and
   * the log are missing, the checkpoint ends after the log, or the log has another event at the checkpoint's last seq.
   */
  checkAgainst({ first, last, hashOf }: ContinuingLog): void {
    if (this.seq < first - 1)
      refuseCheckpoint(`it ends with event ${this.seq}, and the log begins with event ${first}`);
    if (this.seq > last) refuseCheckpoint(`it ends with event ${this.seq}, and the log with event ${last}`);
    if (this.seq >= first && hashOf(this.seq) !== this.#lastHash)
      refuseCheckpoint(
        `event ${this.seq} has the hash ${this.#lastHash} in the checkpoint, but ${hashOf(this.seq) ?? "none"} in the log`,
      );
  }

  /** Returns the live records whose ids are not in `ids`. `rounded` counts the rounded numbers in these records. */
  recordsBut(ids: ReadonlySet<string>): { readonly records: readonly CheckpointRecord[]; readonly rounded: number } {
    let rounded = 0;
    const records: CheckpointRecord[] = [];
    for (const members of this.#records) {
      const id = textIn(members, "id") ?? "";
      if (ids.has(id) || textIn(members, "status") === TOMBSTONE) continue;
      const plain = plainValue({ kind: "object", members });
      rounded += plain.rounded;
      const recursionDepth = wholeIn(members, "recursion_depth") ?? 0;
      records.push({ id, record: plain.value as RecordBody, recursionDepth });
    }
    return { records, rounded };
  }
}

function parsed(bytes: Uint8Array): PythonJson {
  try {
    return readPythonJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    if (error instanceof ChronicleError || error instanceof TypeError) return refuseCheckpoint(error.message);
    throw error;
  }
}

function membersOf(value: PythonJson, otherwise: string): Members {
  return value.kind === "object" ? value.members : refuseCheckpoint(otherwise);
}

function textIn(members: Members, name: string): string | undefined {
  const value = members.get(name);
  return value?.kind === "string" ? value.value : undefined;
}

function wholeIn(members: Members, name: string): number | undefined {
  const value = members.get(name);
  const number = value?.kind === "number" && /^\d+$/.test(value.token) ? Number(value.token) : Number.NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}

function refuseCheckpoint(reason: string): never {
  throw new ChronicleError("REFUSED", `the checkpoint of this log cannot be imported: ${reason}`, {
    hint: "nothing was imported; give the snapshot.json that was beside this log",
  });
}
