import { isUtf8 } from "node:buffer";
import { type Hash, parseHash, sha256 } from "../values/hash.ts";
import {
  decodeStateHeader,
  decodeStateRow,
  encodeStateHeader,
  encodeStateRow,
  notState,
  RecordState,
  type StateHeader,
  type StateRecord,
} from "./record-state.ts";

/**
 * Encodes and decodes the state of a record store as a file (`docs/format.md`):
 * - A state is `{"format":2,…,"records":[`, a newline, the rows separated by a comma and a newline, a newline, and
 *   `]}`.
 * - A *base* is a file that has only a state. The name of the file is the SHA-256 of its bytes.
 * - A *checkpoint* (`snapshot.json`) is `{"checksum":"<SHA-256 of the state's bytes>","state":`, a state, `}`, and a
 *   newline.
 *
 * Each row is on a line of its own. A large state can therefore be written and read without holding it as one string in
 * memory. The rows of a base are sorted by id, so that equal states have the same base.
 */

const OPEN = '{"checksum":"';
const MIDDLE = '","state":';
const CLOSE = "}\n";
const END = "\n]}";
const NEWLINE = 0x0a;
/** The approximate length, in characters, of the pieces of text in which rows are encoded. */
const PIECE = 1024 * 1024;

function headerOf(state: RecordState, store: string, offset: number): StateHeader {
  const { head, frontier, ts } = state;
  if (head.hash === "") throw notState("nothing has happened yet");
  return { format: 2, frontier, hash: head.hash, offset, seq: head.seq, store, ts };
}

function encode(header: StateHeader, rows: Iterable<StateRecord>): Buffer {
  const pieces: Buffer[] = [];
  let text = encodeStateHeader(header);
  let separator = "\n";
  for (const row of rows) {
    text += separator + encodeStateRow(row);
    separator = ",\n";
    if (text.length < PIECE) continue;
    pieces.push(Buffer.from(text));
    text = "";
  }
  pieces.push(Buffer.from(text + END));
  return Buffer.concat(pieces);
}

/** Encodes a base, and returns its bytes and their hash. Throws `INTEGRITY_VIOLATION` if the state has no event. */
export function encodeRecordBase(state: RecordState, store: string): { readonly hash: Hash; readonly bytes: Buffer } {
  const rows = [...state.records()].sort((a, b) => (a.recordId < b.recordId ? -1 : 1));
  const bytes = encode(headerOf(state, store, 0), rows);
  return { hash: sha256(bytes), bytes };
}

/**
 * Encodes a checkpoint. `offset` is the byte offset in `events.wal` after the state's last event. Throws
 * `INTEGRITY_VIOLATION` if the state has no event.
 */
export function encodeCheckpoint(state: RecordState, store: string, offset: number): Buffer {
  const bytes = encode(headerOf(state, store, offset), state.records());
  return Buffer.concat([Buffer.from(OPEN + sha256(bytes) + MIDDLE), bytes, Buffer.from(CLOSE)]);
}

export interface ReadState {
  readonly header: StateHeader;
  readonly state: RecordState;
}

/** Decodes the state in a checkpoint. Throws `INTEGRITY_VIOLATION` unless the bytes are a whole checkpoint. */
export function decodeCheckpoint(bytes: Buffer): ReadState {
  const start = OPEN.length + 64 + MIDDLE.length;
  const begin = bytes.subarray(0, start).toString("latin1");
  const isWhole =
    begin.startsWith(OPEN) && begin.endsWith(MIDDLE) && bytes.subarray(-CLOSE.length).equals(Buffer.from(CLOSE));
  if (bytes.length < start + CLOSE.length || !isWhole) throw notState("it is cut off, or something else");
  const state = bytes.subarray(start, bytes.length - CLOSE.length);
  const checksum = parseHash(begin.slice(OPEN.length, OPEN.length + 64));
  if (sha256(state) !== checksum) throw notState("its checksum is wrong");
  return decode(state);
}

/** Decodes the state in a base. Throws `INTEGRITY_VIOLATION` if the bytes do not match the hash, or are not a state. */
export function decodeRecordBase(bytes: Buffer, hash: Hash): ReadState {
  if (sha256(bytes) !== hash) throw notState(`its bytes are not those of ${hash}`);
  return decode(bytes);
}

function decode(bytes: Buffer): ReadState {
  if (!isUtf8(bytes)) throw notState("it is not UTF-8");
  const end = bytes.length - END.length;
  if (bytes.subarray(end).toString("latin1") !== END) throw notState("it has no end");
  const first = bytes.indexOf(NEWLINE);
  const header = decodeStateHeader(bytes.subarray(0, first).toString("utf8"));
  const { seq, hash, frontier, ts } = header;
  const state = RecordState.from({ head: { seq, hash }, frontier, ts }, rowsOf(bytes.subarray(first, end)));
  if (state.storeId !== header.store) throw notState("it is of another store than it says");
  return { header, state };
}

function* rowsOf(bytes: Buffer): Generator<StateRecord> {
  for (let start = 1; start < bytes.length;) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline - 1;
    yield decodeStateRow(bytes.subarray(start, end).toString("utf8"));
    start = newline < 0 ? bytes.length : newline + 1;
  }
}
