import { isUtf8 } from "node:buffer";
import { ChronicleError } from "./errors.ts";
import type { Json, RecordBody } from "./event.ts";
import { sha256 } from "./hash.ts";
import { plainValue, pythonText, readPythonJson, type PythonJson } from "./python-json.ts";

/**
 * The on-disk form of the original chronomemory (`.chronomemory/events.wal`): one JSON object a line, with the fields
 * `seq ts op record_id record prev_hash hash recursion_depth`, and
 *
 *     hash = SHA-256( json.dumps({seq, ts, op, record_id, record, prev_hash, recursion_depth},
 *                                sort_keys=True, ensure_ascii=False) ), lower-case hex
 *
 * `prev_hash` is the hash of the line before, `""` for seq 1, and stands in what is hashed, not before it.
 */

/** One event of the original, verified. */
export interface OriginalEvent {
  readonly seq: number;
  readonly ts: string;
  readonly op: "upsert" | "delete" | "migrate";
  readonly id: string;
  /** `{}` for a delete. */
  readonly record: RecordBody;
  readonly recursionDepth: number;
  /** 1-based number of its line in the file. */
  readonly line: number;
}

/** A whole log of the original, verified. */
export interface OriginalLog {
  readonly events: readonly OriginalEvent[];
  readonly head: { readonly seq: number; readonly hash: string };
  /** SHA-256 of the file. */
  readonly file: string;
  /** How many numbers were rounded. */
  readonly rounded: number;
}

const FIELDS = ["hash", "op", "prev_hash", "record", "record_id", "recursion_depth", "seq", "ts"] as const;
const OPS: ReadonlySet<string> = new Set(["upsert", "delete", "migrate", "compact"]);
const NEWLINE = 0x0a;

type Fields = Readonly<Record<(typeof FIELDS)[number], PythonJson>>;

/** A line that was verified. `undefined` event: a compaction's, which changes no record. */
interface VerifiedLine {
  readonly seq: number;
  readonly hash: string;
  readonly event: OriginalEvent | undefined;
  readonly rounded: number;
}

/**
 * Reads and verifies a whole log. Blank lines are passed over. Throws `INTEGRITY_VIOLATION` with the line's number in the
 * file (also in `data.line`) for the first line that is not what its hash says or does not go on from the one before, and
 * `REFUSED` for what cannot be taken over whole: a compacted log, a number that would be rounded.
 */
export function readChronomemory(bytes: Uint8Array, options: { readonly roundNumbers: boolean }): OriginalLog {
  const events: OriginalEvent[] = [];
  let [head, rounded]: [OriginalLog["head"], number] = [{ seq: 0, hash: "" }, 0];
  for (const [at, line] of linesOf(bytes)) {
    const text = line.toString("utf8");
    if (text.trim() === "") continue;
    const verified = atLine(at, () => verifyLine(line, text, { at, head }));
    if (verified.rounded > 0 && !options.roundNumbers) throw wouldRound(at, verified.rounded);
    if (verified.event !== undefined) events.push(verified.event);
    rounded += verified.rounded;
    head = { seq: verified.seq, hash: verified.hash };
  }
  return { events, head, file: sha256(bytes), rounded };
}

function* linesOf(bytes: Uint8Array): Generator<readonly [number, Buffer]> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let [at, start] = [1, 0]; start < buffer.length; at += 1) {
    const newline = buffer.indexOf(NEWLINE, start);
    const end = newline < 0 ? buffer.length : newline;
    yield [at, buffer.subarray(start, end)];
    start = end + 1;
  }
}

function atLine<T>(at: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code === "REFUSED") throw error;
    throw new ChronicleError("INTEGRITY_VIOLATION", `line ${at} does not verify: ${error.message}`, {
      hint: "nothing was imported; check where that file comes from, or mend it from a copy",
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
  if (op === "compact" && head.seq === 0) throw compacted(at);
  if (seq !== head.seq + 1) refuse(`its seq is ${seq}, expected ${head.seq + 1}`);
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
    `line ${at}: this log was compacted, so that its records stand in a snapshot.json that no hash vouches for`,
    { hint: "nothing was imported; import a copy of the log from before the compaction", data: { line: at } },
  );
}

function wouldRound(at: number, count: number): ChronicleError {
  const numbers = count === 1 ? "a number" : `${count} numbers`;
  return new ChronicleError("REFUSED", `line ${at} holds ${numbers} that a double cannot hold exactly`, {
    hint: "nothing was imported; with --round-numbers (`roundNumbers: true`) they are rounded",
    data: { line: at, numbers: count },
  });
}
