import {
  BASE_MAGIC,
  BASE_VERSION,
  BASE_VERSION_MS,
  type BaseEntry,
  type BaseHeader,
  type BaseRecord,
  type BaseRoot,
  DELETED_TAG,
  HEADER_FIXED,
  PROTECTED_TAG,
  RECORD_TAG,
  ROOT_TAG,
  rootFolder,
} from "./base-format.ts";
import { parseRecord, BaseRows, notABase } from "./base-records.ts";
import { MAX_LINE_BYTES } from "./chain.ts";
import { type EntryKind, SYMLINK_MODE, restOfTime } from "../values/entry.ts";
import { ChronicleError } from "../values/errors.ts";
import type { Hash } from "../values/hash.ts";
import { KIND_BYTES, workspaceRoot } from "../tree/merkle.ts";
import { compareNames, decodeName, isRootId } from "../values/path.ts";

/** Consecutive rows of a base. The first batch has the header. */
export interface BaseBatch {
  readonly header?: BaseHeader;
  readonly entries?: BaseEntry[];
  readonly records?: BaseRecord[];
}

const BATCH_ROWS = 4096;

/**
 * Reads a base from its bytes, in batches of at most 4,096 rows. The bytes are not trusted. Throws `FORMAT_UNSUPPORTED`
 * for an unknown version. Throws `INTEGRITY_VIOLATION` for a wrong magic, rows that are out of order, duplicate rows,
 * invalid names, rows without their folder, wrong counts, and missing or trailing bytes. Also throws
 * `INTEGRITY_VIOLATION` if the hashes of the roots' folders do not match the Merkle root of the workspace. Does not
 * check the hashes of the folders beneath the roots: `ManifestHasher` can recompute them.
 */
export async function* decodeBase(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<BaseBatch> {
  const reader = new BaseReader();
  for await (const piece of pieces) {
    reader.push(piece);
    for (let batch = reader.batch(); batch !== undefined; batch = reader.batch()) yield batch;
  }
  reader.finish();
}

const KINDS: ReadonlyMap<number, EntryKind> = new Map<number, EntryKind>([
  ...(["file", "symlink", "dir"] as const).map((kind) => [KIND_BYTES[kind], kind] as const),
  [PROTECTED_TAG, "file"],
]);

/** The length, in bytes, of the part of an entry row before the name: the kind, the depth, and the name's length. */
const ROW_START = 5;
/** The length, in bytes, of the iteration and the seq together, which follow the name. */
const ROW_NUMBERS = 16;
/** The length, in bytes, of the columns at the end of a live folder's row. */
const DIR_COLUMNS = 34;
/** The length, in bytes, of the columns at the end of the row of a live file or link. */
const FILE_COLUMNS = 54;
/** The value of `FILE_COLUMNS` for version 1. */
const FILE_COLUMNS_MS = 50;

class BaseReader {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  // The pieces that are not joined to `#bytes` yet. The pieces of a long record are joined in one step, when the record
  // is complete.
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #wanted = 0;
  #header: BaseHeader | undefined;
  #fileColumns = FILE_COLUMNS;
  #section = -1;
  #entryCount = 0;
  #recordCount = 0;
  #lastSeq = 0;
  readonly #recordIds = new Set<string>();
  readonly #rows = new BaseRows();

  push(piece: Uint8Array): void {
    // The piece is copied, because the caller may reuse its buffer.
    this.#waiting.push(Buffer.from(piece));
    this.#waitingBytes += piece.length;
    if (this.#left + this.#waitingBytes < this.#wanted) return;
    this.#bytes = Buffer.concat([this.#bytes.subarray(this.#at), ...this.#waiting]);
    this.#at = 0;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#wanted = 0;
  }

  /** Returns the header or the next rows; `undefined` if more bytes are needed or all rows have been read. */
  batch(): BaseBatch | undefined {
    if (this.#header === undefined) {
      this.#header = this.#readHeader();
      return this.#header && { header: this.#header };
    }
    const { counts, roots } = this.#header;
    if (this.#section < roots.length - 1 || this.#entryCount < counts.entries) {
      const entries = this.#entries(this.#header);
      return entries.length > 0 ? { entries } : this.#batchAfterSections(this.#header);
    }
    return this.#batchOfRecords(counts.records);
  }

  /** Returns the first records if the last section has just been read and has no rows. */
  #batchAfterSections({ counts, roots }: BaseHeader): BaseBatch | undefined {
    const ended = this.#section === roots.length - 1 && this.#entryCount === counts.entries;
    return ended ? this.#batchOfRecords(counts.records) : undefined;
  }

  #batchOfRecords(count: number): BaseBatch | undefined {
    const records: BaseRecord[] = [];
    while (records.length < BATCH_ROWS && this.#recordCount < count) {
      const record = this.#record();
      if (record === undefined) break;
      records.push(record);
      this.#recordCount += 1;
    }
    if (this.#recordCount === count && this.#left > 0) notABase("bytes follow its last row");
    return records.length > 0 ? { records } : undefined;
  }

  finish(): void {
    const header = this.#header ?? notABase("its header is cut off");
    const { counts, roots } = header;
    if (this.#left + this.#waitingBytes > 0) notABase("its last row is cut off");
    if (this.#section !== roots.length - 1) notABase(`it has ${this.#section + 1} sections, not ${roots.length}`);
    if (this.#entryCount !== counts.entries) notABase(`it has ${this.#entryCount} entries, not ${counts.entries}`);
    if (this.#recordCount !== counts.records) notABase(`it has ${this.#recordCount} records, not ${counts.records}`);
  }

  get #left(): number {
    return this.#bytes.length - this.#at;
  }

  #u64(at: number): number {
    const value = this.#bytes.readUInt32BE(at) * 2 ** 32 + this.#bytes.readUInt32BE(at + 4);
    return Number.isSafeInteger(value) ? value : notABase("a number is over 2^53−1");
  }

  #i64(at: number): number {
    const value = this.#bytes.readInt32BE(at) * 2 ** 32 + this.#bytes.readUInt32BE(at + 4);
    return Number.isSafeInteger(value) ? value : notABase("a number is over 2^53−1");
  }

  #restOfTime(at: number): number | undefined {
    if (this.#fileColumns === FILE_COLUMNS_MS) return undefined;
    const rest = this.#bytes.readUInt32BE(at);
    return rest <= 999_999 ? restOfTime(rest) : notABase(`a time has ${rest} ns after its milliseconds`);
  }

  #hash(at: number): Hash {
    return this.#bytes.toString("hex", at, at + 32) as Hash;
  }

  #readHeader(): BaseHeader | undefined {
    const bytes = this.#bytes;
    const seen = Math.min(bytes.length, BASE_MAGIC.length);
    if (!bytes.subarray(0, seen).equals(BASE_MAGIC.subarray(0, seen)))
      notABase("it does not begin with the magic of a base");
    const version = bytes.length >= 12 ? bytes.readUInt32BE(8) : BASE_VERSION;
    if (version === BASE_VERSION_MS) this.#fileColumns = FILE_COLUMNS_MS;
    else if (version !== BASE_VERSION) {
      throw new ChronicleError("FORMAT_UNSUPPORTED", `the base has version ${version}`, {
        hint: "a newer version of Chronicle wrote it: update Chronicle",
      });
    }
    if (bytes.length < HEADER_FIXED) return undefined;
    let at = HEADER_FIXED;
    const roots: BaseRoot[] = [];
    for (let left = bytes.readUInt16BE(60); left > 0; left -= 1) {
      const length = at < bytes.length ? bytes.readUInt8(at) : 0;
      if (at + 33 + length > bytes.length) return undefined;
      roots.push({ id: bytes.toString("latin1", at + 1, at + 1 + length), hash: this.#hash(at + 1 + length) });
      at += 33 + length;
    }
    this.#at = at;
    const header = { root: this.#hash(12), roots, counts: { entries: this.#u64(44), records: this.#u64(52) } };
    checkRoots(header);
    return header;
  }

  #entries({ counts, roots }: BaseHeader): BaseEntry[] {
    const entries: BaseEntry[] = [];
    while (entries.length < BATCH_ROWS && this.#left > 0) {
      if (this.#bytes[this.#at] === ROOT_TAG) {
        const root = roots[this.#section + 1] ?? notABase("it has more sections than roots");
        this.#section += 1;
        this.#at += 1;
        this.#rows.beginRoot(rootFolder(root.id));
      } else {
        if (this.#section < 0) notABase("its rows begin without a section");
        if (this.#entryCount === counts.entries) {
          if (this.#section === roots.length - 1) break;
          notABase(`it has more than ${counts.entries} entries`);
        }
        const entry = this.#entry();
        if (entry === undefined) break;
        entries.push(entry);
        this.#entryCount += 1;
      }
    }
    return entries;
  }

  #entry(): BaseEntry | undefined {
    const bytes = this.#bytes;
    const start = this.#at;
    const tag = bytes[start] as number;
    const kind = KINDS.get(tag);
    if (kind === undefined && tag !== DELETED_TAG) notABase(`a row begins with the byte ${tag}`);
    if (this.#left < ROW_START) return undefined;
    const nameEnd = start + ROW_START + bytes.readUInt16BE(start + 3);
    const columns = kind === undefined ? 0 : kind === "dir" ? DIR_COLUMNS : this.#fileColumns;
    const end = nameEnd + ROW_NUMBERS + columns;
    if (end > bytes.length) return undefined;
    const name = readName(bytes, start + ROW_START, nameEnd);
    const live = kind !== undefined;
    const path = this.#rows.enter({ depth: bytes.readUInt16BE(start + 1), name, live, liveFolder: kind === "dir" });
    const [iteration, seq] = [this.#u64(nameEnd), this.#u64(nameEnd + 8)];
    if (iteration < 1 || seq < 1) notABase(`${JSON.stringify(path)} is iteration ${iteration} of event ${seq}`);
    this.#at = end;
    if (kind === undefined) return { path, iteration, seq, entry: undefined };
    const at = nameEnd + ROW_NUMBERS;
    const mode = bytes.readUInt16BE(at);
    const hash = this.#hash(at + 2);
    if (mode > 0o7777 || (kind === "symlink" && mode !== SYMLINK_MODE)) notABase(`the mode ${mode} is impossible`);
    if (kind === "dir") {
      const entry = { path, kind, mode, size: 0, mtimeMs: 0, hash: undefined };
      return { path, iteration, seq, entry, folderHash: hash };
    }
    const [size, mtimeMs, mtimeRestNs] = [this.#u64(at + 34), this.#i64(at + 42), this.#restOfTime(at + 50)];
    const entry = { path, kind, mode, size, mtimeMs, mtimeRestNs, hash };
    if (tag !== PROTECTED_TAG) return { path, iteration, seq, entry };
    return { path, iteration, seq, entry: { ...entry, class: "protected" } };
  }

  #record(): BaseRecord | undefined {
    if (this.#left < 5) return undefined;
    if (this.#bytes[this.#at] !== RECORD_TAG) notABase(`a record begins with the byte ${this.#bytes[this.#at]}`);
    const length = this.#bytes.readUInt32BE(this.#at + 1);
    if (length > MAX_LINE_BYTES) notABase(`a record is longer than ${MAX_LINE_BYTES} bytes`);
    if (this.#left < 5 + length) {
      this.#wanted = 5 + length;
      return undefined;
    }
    const record = parseRecord(this.#bytes.subarray(this.#at + 5, this.#at + 5 + length));
    if (record.seq <= this.#lastSeq || this.#recordIds.has(record.recordId)) {
      notABase(`the record ${JSON.stringify(record.recordId)} of seq ${record.seq} is out of order or comes twice`);
    }
    this.#lastSeq = record.seq;
    this.#recordIds.add(record.recordId);
    this.#at += 5 + length;
    return record;
  }
}

function checkRoots({ root, roots }: BaseHeader): void {
  const first = roots.at(-1);
  const further = roots.slice(0, -1);
  if (first === undefined || first.id !== "")
    return notABase("the last root in its list is not the workspace's first root");
  let previous: string | undefined;
  for (const { id } of further) {
    if (id === "" || !isRootId(id)) notABase(`${JSON.stringify(id)} is not a root id`);
    if (previous !== undefined && compareNames(previous, id) >= 0) notABase("its roots are out of order");
    previous = id;
  }
  if (workspaceRoot(first.hash, further) !== root) notABase("its root does not match the hashes of its roots' folders");
}

function readName(bytes: Buffer, start: number, end: number): string {
  for (let at = start; at < end; at += 1) {
    if ((bytes[at] as number) >= 0x80) return decodeName(bytes.subarray(start, end));
  }
  return bytes.toString("latin1", start, end);
}
