import {
  BASE_MAGIC,
  BASE_VERSION,
  type BaseCounts,
  type BaseEntry,
  type BaseRecord,
  type BaseRoot,
  DELETED_TAG,
  HEADER_FIXED,
  PROTECTED_TAG,
  RECORD_TAG,
  ROOT_TAG,
  rootFolder,
} from "./base-format.ts";
import { recordText, BaseRows, notABase } from "./base-records.ts";
import { type Entry, SYMLINK_MODE } from "../values/entry.ts";
import type { Hash } from "../values/hash.ts";
import { KIND_BYTES } from "../tree/merkle.ts";
import { compareNames, nameOf, pathInRoot, pathToBytes, ROOT, splitRoot } from "../values/path.ts";

const PIECE_BYTES = 1024 * 1024;

/** The maximum size, in bytes, of an entry row without its name. */
const ROW_FIXED = 1 + 2 + 2 + 8 + 8 + 2 + 32 + 8 + 8 + 4;

export interface BaseContent {
  readonly root: Hash;
  /** Tracked roots in any order. Default: only the first root (id `""`), whose folder hash is `root`. */
  readonly roots?: readonly BaseRoot[];
  readonly counts: BaseCounts;
  /** Entries in `comparePaths` order, including deleted paths. Each folder is directly before its contents. */
  readonly entries: Iterable<BaseEntry>;
  /** Records by ascending seq. */
  readonly records: Iterable<BaseRecord>;
}

/**
 * Writes values into pieces of at most 1 MiB. Before each value, the caller must check with `hasRoom` that the value
 * fits.
 */
class PieceWriter {
  #piece: Buffer = Buffer.allocUnsafe(PIECE_BYTES);
  #at = 0;

  /**
   * Returns true if `bytes` more bytes fit into the piece. If this returns false, the caller must call `take` first.
   */
  hasRoom(bytes: number): boolean {
    return this.#at + bytes <= PIECE_BYTES;
  }

  /** Returns the bytes that were written since the last call, and begins a new piece. */
  take(): Buffer {
    const full = this.#piece.subarray(0, this.#at);
    this.#piece = Buffer.allocUnsafe(PIECE_BYTES);
    this.#at = 0;
    return full;
  }

  get length(): number {
    return this.#at;
  }

  u8(value: number): void {
    this.#at = this.#piece.writeUInt8(value, this.#at);
  }

  u16(value: number): void {
    this.#at = this.#piece.writeUInt16BE(value, this.#at);
  }

  u32(value: number): void {
    this.#at = this.#piece.writeUInt32BE(value, this.#at);
  }

  u64(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) notABase(`${value} is not a count`);
    this.u32(Math.floor(value / 2 ** 32));
    this.u32(value >>> 0);
  }

  i64(value: number): void {
    if (!Number.isSafeInteger(value)) notABase(`${value} is not a whole number of milliseconds`);
    this.#at = this.#piece.writeInt32BE(Math.floor(value / 2 ** 32), this.#at);
    this.u32(value >>> 0);
  }

  hash(hash: Hash): void {
    this.#at += this.#piece.write(hash, this.#at, "hex");
  }

  bytes(bytes: Uint8Array): void {
    this.#piece.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  name(name: string): void {
    const length = name.isWellFormed()
      ? this.#piece.write(name, this.#at + 2, "utf8")
      : pathToBytes(name).copy(this.#piece, this.#at + 2);
    this.u16(length);
    this.#at += length;
  }
}

/**
 * Encodes a base in pieces of at most 1 MiB. Throws `INTEGRITY_VIOLATION` for rows out of order, for a path that occurs
 * twice or without its folder, and for a value that cannot be written. Also throws `INTEGRITY_VIOLATION` if the number
 * of entry rows or of record rows is wrong. This check comes after the last of these rows. Throws `PATH_INVALID` for an
 * impossible root id.
 */
export function* encodeBase(content: BaseContent): Generator<Buffer> {
  const roots = sectionOrder(content.roots ?? [{ id: "", hash: content.root }]);
  yield header(content, roots);
  const writer = new PieceWriter();
  yield* entryRows(writer, content, roots);
  yield* recordRows(writer, content);
  if (writer.length > 0) yield writer.take();
}

/**
 * Sorts the further roots by id, and puts the root with the id `""` after them. Paths in further roots begin with a
 * NUL, so these paths sort before all others.
 */
function sectionOrder(roots: readonly BaseRoot[]): readonly BaseRoot[] {
  const further = roots.filter((root) => root.id !== "").toSorted((a, b) => compareNames(a.id, b.id));
  const first = roots.filter((root) => root.id === "");
  for (const root of further) pathInRoot(root.id, ROOT);
  if (first.length !== 1) notABase(`it has ${first.length} roots with an empty id, not 1`);
  return [...further, ...first];
}

function header(content: BaseContent, roots: readonly BaseRoot[]): Buffer {
  const writer = new PieceWriter();
  const size = roots.reduce((sum, root) => sum + 33 + root.id.length, HEADER_FIXED);
  if (!writer.hasRoom(size)) notABase(`it has too many roots (${roots.length})`);
  writer.bytes(BASE_MAGIC);
  writer.u32(BASE_VERSION);
  writer.hash(content.root);
  writer.u64(content.counts.entries);
  writer.u64(content.counts.records);
  writer.u16(roots.length);
  for (const root of roots) {
    writer.u8(root.id.length);
    writer.bytes(Buffer.from(root.id, "latin1"));
    writer.hash(root.hash);
  }
  return writer.take();
}

function* entryRows(writer: PieceWriter, content: BaseContent, roots: readonly BaseRoot[]): Generator<Buffer> {
  const rows = new BaseRows();
  let section = -1;
  const beginSection = (): void => {
    section += 1;
    rows.beginRoot(rootFolder((roots[section] as BaseRoot).id));
    writer.u8(ROOT_TAG);
  };
  let count = 0;
  for (const one of content.entries) {
    const id = splitRoot(one.path).root ?? "";
    while (roots[section]?.id !== id) {
      if (section === roots.length - 1) notABase(`${JSON.stringify(one.path)} is out of order or in no root`);
      if (!writer.hasRoom(1)) yield writer.take();
      beginSection();
    }
    const name = nameOf(one.path);
    if (!writer.hasRoom(ROW_FIXED + name.length * 3)) yield writer.take();
    entryRow(writer, rows, one);
    count += 1;
  }
  while (section < roots.length - 1) {
    if (!writer.hasRoom(1)) yield writer.take();
    beginSection();
  }
  if (count !== content.counts.entries) notABase(`it has ${count} entries, not ${content.counts.entries}`);
}

function depthOf(path: string): number {
  let depth = 1;
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) depth += 1;
  return depth;
}

function tagOf({ kind, class: is }: Entry): number {
  return is === "protected" && kind === "file" ? PROTECTED_TAG : KIND_BYTES[kind];
}

function entryRow(writer: PieceWriter, rows: BaseRows, one: BaseEntry): void {
  const { path, entry } = one;
  const name = nameOf(path);
  // A path in a further root begins with a component that names the root. The depth of a row does not count this
  // component.
  const depth = depthOf(path) - (path.startsWith("\0") ? 1 : 0);
  const live = entry !== undefined;
  if (rows.enter({ depth, name, live, liveFolder: entry?.kind === "dir" }) !== path) {
    notABase(`${JSON.stringify(path)} comes without its folder`);
  }
  writer.u8(live ? tagOf(entry) : DELETED_TAG);
  writer.u16(depth);
  writer.name(name);
  writer.u64(one.iteration);
  writer.u64(one.seq);
  if (live) liveColumns(writer, one, entry);
}

function liveColumns(writer: PieceWriter, one: BaseEntry, entry: Entry): void {
  const { path, mode, kind } = entry;
  if (path !== one.path) notABase(`the row of ${JSON.stringify(one.path)} holds ${JSON.stringify(path)}`);
  if (!Number.isInteger(mode) || mode < 0 || mode > 0o7777) notABase(`${JSON.stringify(path)} has the mode ${mode}`);
  if (kind === "symlink" && mode !== SYMLINK_MODE) notABase(`the link ${JSON.stringify(path)} has the mode ${mode}`);
  const hash = kind === "dir" ? one.folderHash : entry.hash;
  if (hash === undefined) return notABase(`${JSON.stringify(path)} has no hash`);
  writer.u16(mode);
  writer.hash(hash);
  if (kind === "dir") return;
  writer.u64(entry.size);
  writer.i64(entry.mtimeMs);
  writer.u32(entry.mtimeRestNs ?? 0);
}

function* recordRows(writer: PieceWriter, content: BaseContent): Generator<Buffer> {
  let count = 0;
  let lastSeq = 0;
  for (const record of content.records) {
    const { recordId, seq } = record;
    if (seq <= lastSeq) notABase(`the record ${JSON.stringify(recordId)} of seq ${seq} is out of order`);
    lastSeq = seq;
    count += 1;
    const text = recordText(record);
    if (!writer.hasRoom(5)) yield writer.take();
    writer.u8(RECORD_TAG);
    writer.u32(text.length);
    yield* longBytes(writer, text);
  }
  if (count !== content.counts.records) notABase(`it has ${count} records, not ${content.counts.records}`);
}

function* longBytes(writer: PieceWriter, bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length;) {
    if (!writer.hasRoom(1)) yield writer.take();
    const part = bytes.subarray(at, at + PIECE_BYTES - writer.length);
    writer.bytes(part);
    at += part.length;
  }
}
