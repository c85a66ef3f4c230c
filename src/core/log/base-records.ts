import { isUtf8 } from "node:buffer";
import { ChronicleError } from "../values/errors.ts";
import { compareNames, MAX_PATH_BYTES, pathToBytes, ROOT, splitRoot, type WorkspacePath } from "../values/path.ts";
import { type BaseRecord, RECORD_TAG } from "./base-format.ts";
import { canonicalJson, parseCanonical } from "../values/canonical-json.ts";
import { isTimestamp } from "./chain.ts";
import type { EventOp, RecordBody } from "../values/event.ts";
import { optional } from "../../util/optional.ts";

/** The length, in bytes, of the part of a record row before the JSON: the tag, and the length of the JSON. */
const ROW_START = 5;

/** The operations of live records. Deleted records have no rows. */
const OPS: ReadonlySet<unknown> = new Set<EventOp>(["upsert", "migrate"]);

const RECORD_KEYS: ReadonlySet<string> = new Set([
  "op record record_id seq ts",
  "op record record_id recursion_depth seq ts",
]);

/**
 * Returns true for an id whose record cannot have a record row. Files have entry rows instead. The record of a
 * compaction is not part of a base, because this record concerns only the log.
 */
function isOfPathOrLog(recordId: string): boolean {
  return /^(?:file(?:64)?[@:]|compact:)/.test(recordId);
}

function isCounted(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

/**
 * Parses the JSON of a record row. Throws `INTEGRITY_VIOLATION` unless the bytes are canonical JSON with the fields of
 * a record in a base.
 */
export function parseRecord(bytes: Buffer): BaseRecord {
  if (!isUtf8(bytes)) notABase("a record is not UTF-8");
  const value = parseCanonical(bytes.toString("utf8"));
  if (value === null || typeof value !== "object" || !RECORD_KEYS.has(Object.keys(value).join(" "))) {
    return notABase("a record row does not have exactly the fields of a record");
  }
  const fields = value as { readonly [key: string]: unknown };
  const { op, record, record_id: recordId, recursion_depth: recursionDepth, seq, ts } = fields;
  const sound =
    (recursionDepth === undefined || isCounted(recursionDepth)) &&
    OPS.has(op) &&
    record !== null &&
    typeof record === "object" &&
    !Array.isArray(record) &&
    typeof recordId === "string" &&
    recordId !== "" &&
    isCounted(seq) &&
    typeof ts === "string" &&
    isTimestamp(ts);
  if (!sound) notABase(`the record ${JSON.stringify(recordId)} has a field of the wrong type`);
  if (isOfPathOrLog(recordId as string)) notABase(`the record ${JSON.stringify(recordId)} has no place in a base`);
  // Only records of users may have numbers that are not integers. For other records, `canonicalJson` refuses such
  // numbers.
  if (!(recordId as string).startsWith("user:")) canonicalJson(record as RecordBody, { integers: true });
  return { recordId, seq, ts, op, record, ...optional({ recursionDepth }) } as BaseRecord;
}

/** Returns the canonical JSON of a record row, in UTF-8. */
export function recordText({ op, record, recordId, recursionDepth = 0, seq, ts }: BaseRecord): Buffer {
  const depth: RecordBody = recursionDepth === 0 ? {} : { recursion_depth: recursionDepth };
  return Buffer.from(canonicalJson({ op, record, record_id: recordId, ...depth, seq, ts }));
}

/** Returns the offset of the record rows in a base of `size` bytes. The record rows are the last part of a base. */
export function recordsOffset(size: number, records: readonly BaseRecord[]): number {
  return records.reduce((at, record) => at - ROW_START - recordText(record).length, size);
}

export function encodeRecordRows(records: readonly BaseRecord[]): Buffer {
  return Buffer.concat(records.flatMap((record) => rowParts(recordText(record))));
}

function rowParts(text: Buffer): Buffer[] {
  const start = Buffer.alloc(ROW_START);
  start.writeUInt8(RECORD_TAG, 0);
  start.writeUInt32BE(text.length, 1);
  return [start, text];
}

/** Decodes all record rows of a base. Throws `INTEGRITY_VIOLATION` for an invalid row. */
export function decodeRecordRows(bytes: Buffer): BaseRecord[] {
  const records: BaseRecord[] = [];
  for (let at = 0; at < bytes.length;) {
    if (bytes[at] !== RECORD_TAG || bytes.length < at + ROW_START) notABase("a record does not begin where it should");
    const end = at + ROW_START + bytes.readUInt32BE(at + 1);
    if (end > bytes.length) notABase("its last record is cut off");
    records.push(parseRecord(bytes.subarray(at + ROW_START, end)));
    at = end;
  }
  return records;
}

/**
 * Throws the `INTEGRITY_VIOLATION` error for bytes or rows that do not form a base. `reason` completes "not a base: …".
 */
export function notABase(reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", `not a base: ${reason}`);
}

interface RowPlace {
  /** The depth of the path; 1 for a path directly in the root. */
  readonly depth: number;
  readonly name: string;
  /** False for the row of a deleted path. */
  readonly live: boolean;
  /** True if live rows can be beneath the row. */
  readonly liveFolder: boolean;
}

/**
 * Tracks the entry rows while a base is written or read, and enforces the order of the rows:
 * - The row of a folder precedes the rows in the folder.
 * - The names in a folder ascend.
 * - No path occurs twice.
 * - Live rows are in live folders.
 */
export class BaseRows {
  // These lists are indexed by depth. The root has the depth 0. The lists describe the folders in which the next row
  // can be.
  readonly #paths: WorkspacePath[] = [ROOT];
  readonly #liveFolders: boolean[] = [true];
  readonly #lastNames: (string | undefined)[] = [undefined];
  #depth = 0;

  beginRoot(folder: WorkspacePath): void {
    this.#paths[0] = folder;
    this.#lastNames[0] = undefined;
    this.#depth = 0;
  }

  /** Returns the path of the next row. Throws `INTEGRITY_VIOLATION` if the row is not allowed at this place. */
  enter({ depth, name, live, liveFolder }: RowPlace): WorkspacePath {
    checkName(name);
    if (depth < 1 || depth > this.#depth + 1) notABase(`${JSON.stringify(name)} comes without its folder`);
    const folder = this.#paths[depth - 1] as WorkspacePath;
    const path = (folder === ROOT ? name : `${folder}/${name}`) as WorkspacePath;
    const last = this.#lastNames[depth - 1];
    if (last !== undefined && compareNames(last, name) >= 0) notABase(`${JSON.stringify(path)} is out of order`);
    if (live && this.#liveFolders[depth - 1] !== true) notABase(`${JSON.stringify(path)} lies in no folder`);
    checkLength(path);
    this.#lastNames[depth - 1] = name;
    this.#paths[depth] = path;
    this.#liveFolders[depth] = liveFolder;
    this.#lastNames[depth] = undefined;
    this.#depth = depth;
    return path;
  }
}

function checkName(name: string): void {
  if (name === "" || name === "." || name === ".." || name.includes("/") || name.includes("\0")) {
    notABase(`${JSON.stringify(name)} is not a name`);
  }
}

function checkLength(path: WorkspacePath): void {
  if (path.length * 3 > MAX_PATH_BYTES && pathToBytes(splitRoot(path).path).length > MAX_PATH_BYTES) {
    notABase(`a path is longer than ${MAX_PATH_BYTES} bytes`);
  }
}
