import { crc32 } from "node:zlib";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { Disk } from "../../disk/disk.ts";
import type { Columns, KnownRow, Listing } from "./stat-table.ts";
import type { ExcludedName, KnownRules, RootTotal } from "./stat-cache.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { readFully, writeFully } from "../../disk/write-fully.ts";
import type { KnownGit } from "../git/root-git.ts";
import { StatCache } from "./stat-cache.ts";
import { ROW_BYTES, StatTable, columnsOver } from "./stat-table.ts";

const MAGIC = "CHRSTAT2";
const FORMAT = 1;
const PREFIX_BYTES = 24;
/** The maximum number of changes in one appended batch. If there are more changes, the file is rewritten. */
const FEW_CHANGES = 2000;
/**
 * The maximum total size of the appended batches, as a fraction of the size of the first part (see the file format
 * below). If `APPENDED_BYTES` is more than this fraction, `APPENDED_BYTES` is the maximum. Once the batches have
 * reached the maximum, the file is rewritten. The maximum is low, because every process that loads the file must parse
 * all appended batches as text.
 */
const MOST_APPENDED = 1 / 64;
const APPENDED_BYTES = 16 * 1024;

/**
 * The file format. The first part consists of:
 *
 * - a prefix of 24 bytes: magic (8 bytes), length of the first part with the prefix (f64 LE), CRC-32 of the bytes after
 *   the prefix (u32 LE), length of the padded header (u32 LE)
 * - the header as JSON, padded with spaces to a multiple of eight bytes
 * - the columns of the table one after the other (`slots` elements each, native byte order)
 * - the bytes of all names
 *
 * Any number of batches of changes follows the first part. Each batch has a length (u32 LE), a CRC-32 (u32 LE) and
 * JSON. A later batch overrides the earlier ones.
 *
 * The file is disposable and not synced. If the first part is damaged, the file is not used. A damaged batch is
 * ignored, together with all batches after it. Several processes may write the file one after another. An outdated row
 * does no harm, because a stat of the path shows whether the row still holds.
 */
interface Header {
  readonly format: number;
  /** True if the machine that wrote the file is little-endian. The columns are in the byte order of that machine. */
  readonly littleEndian: boolean;
  readonly seq: number;
  readonly rows: number;
  readonly slots: number;
  readonly nameBytes: number;
  readonly excluded: readonly (readonly [string, readonly ExcludedName[]])[];
  readonly rules: readonly (readonly [string, unknown])[];
  readonly rootListings: readonly (readonly [string, unknown])[];
  /** Absent in older files. */
  readonly git?: readonly (readonly [string, unknown])[];
  /** Absent in older files. */
  readonly gitFolders?: readonly string[];
  /** Absent in older files. The totals are then counted from the table. */
  readonly totals?: readonly RootTotal[];
}

/**
 * The file as it was last read or rewritten: the length of the first part, and the checksum that identifies that part.
 */
export interface CacheFile {
  readonly bytes: number;
  readonly crc: number;
}

/** A cache. `seq`: the last event that the cache covers. `file` is `undefined` if the file must be rewritten. */
export interface KeptCache {
  readonly cache: StatCache;
  readonly seq: number;
  readonly file: CacheFile | undefined;
}

/** One batch of changes, as it is appended to the file. */
interface Later {
  readonly seq: number;
  readonly known: readonly KnownRow[];
  readonly removed: readonly WorkspacePath[];
  readonly listings: readonly (readonly [WorkspacePath, Listing])[];
  readonly excluded: readonly (readonly [WorkspacePath, readonly ExcludedName[] | null])[];
  readonly rules: readonly (readonly [WorkspacePath, KnownRules | null])[];
  /** Absent in older files. */
  readonly git?: readonly (readonly [WorkspacePath, KnownGit | null])[];
  /**
   * The changed folders, each with true if the cache has the folder, and false if the folder was removed. Absent in
   * older files.
   */
  readonly gitFolders?: readonly (readonly [string, boolean])[];
}

const BIG = /^-?\d+n$/;

function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => (typeof inner === "bigint" ? `${inner}n` : inner));
}

/**
 * The names of the fields that hold bigints. `mtimeRestNs` (the part of an entry's mtime below one millisecond, in
 * nanoseconds) is not among them, because it is a plain number.
 */
const BIGS: ReadonlySet<string> = new Set(["mtimeNs", "ctimeNs", "ino", "dev"]);

function reviveBig(key: string, value: unknown): unknown {
  return BIGS.has(key) ? toBig(value) : value;
}

function toBig(value: unknown): bigint {
  if (typeof value !== "string" || !BIG.test(value)) throw new RangeError("not a whole number");
  return BigInt(value.slice(0, -1));
}

const LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** Returns the saved cache; `undefined` if the file is missing, unreadable, damaged or of another format. */
export function loadStatCache(disk: Disk, file: string): KeptCache | undefined {
  try {
    const buffer = readWhole(disk, file);
    return buffer === undefined ? undefined : decode(buffer);
  } catch (error) {
    if (errnoOf(error) !== undefined || error instanceof RangeError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * Removes the file. If the disk refuses, the file stays. A later `saveStatCache` whose `KeptCache.file` is `undefined`
 * then replaces the file.
 */
export function discardStatCache(disk: Disk, file: string): void {
  try {
    if (disk.lstat(file) !== undefined) disk.unlink(file);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}

/**
 * Saves a cache: appends a batch of changes, or writes a new file and renames it into place. Writes nothing if there
 * are no changes and the file need not be rewritten. Throws the disk's error.
 */
export function saveStatCache(disk: Disk, file: string, kept: KeptCache): CacheFile {
  const { unsaved } = kept.cache;
  const few = [unsaved.listings, unsaved.excluded, unsaved.rules, unsaved.git, unsaved.gitFolders];
  const changes = few.reduce((sum, { size }) => sum + size, unsaved.paths.size);
  const now = disk.lstat(file)?.size;
  if (kept.file !== undefined && now !== undefined && changes <= FEW_CHANGES && !unsaved.everything) {
    const appended = now - kept.file.bytes;
    if (changes === 0) return kept.file;
    const fits = appended < Math.max(APPENDED_BYTES, kept.file.bytes * MOST_APPENDED);
    if (fits && isStill(disk, file, kept.file)) return append(disk, file, kept, kept.file);
  }
  return writeWhole(disk, file, kept);
}

/**
 * True if the file still has the first part that this process last read or wrote. Another process may have replaced it
 * by a first part without rows that this process saved earlier. An appended batch has only later changes, so these rows
 * would be lost.
 */
function isStill(disk: Disk, path: string, { bytes, crc }: CacheFile): boolean {
  const fd = disk.open(path, "read");
  try {
    const prefix = Buffer.alloc(PREFIX_BYTES);
    const isWhole = readFully(disk, fd, prefix, 0) === PREFIX_BYTES;
    return isWhole && prefix.readDoubleLE(8) === bytes && prefix.readUInt32LE(16) === crc;
  } finally {
    disk.close(fd);
  }
}

function append(disk: Disk, path: string, { cache, seq }: KeptCache, file: CacheFile): CacheFile {
  const text = Buffer.from(toJson(laterOf(cache, seq)));
  const head = Buffer.alloc(8);
  head.writeUInt32LE(text.length, 0);
  head.writeUInt32LE(crc32(text), 4);
  const fd = disk.open(path, "append", 0o600);
  try {
    writeFully(disk, fd, Buffer.concat([head, text]), null);
  } finally {
    disk.close(fd);
  }
  cache.markSaved();
  return file;
}

function laterOf(cache: StatCache, seq: number): Later {
  const { unsaved } = cache;
  const known: KnownRow[] = [];
  const removed: WorkspacePath[] = [];
  for (const path of unsaved.paths) {
    const row = cache.get(path);
    if (row === undefined) removed.push(path);
    else known.push(row);
  }
  const listings = [...unsaved.listings].flatMap((path): [WorkspacePath, Listing][] => {
    const listing = cache.listing(path, cache.rowOf(path));
    return listing === undefined ? [] : [[path, listing]];
  });
  return {
    seq,
    known,
    removed,
    listings,
    excluded: [...unsaved.excluded].map((path) => [path, cache.excluded.get(path) ?? null] as const),
    rules: [...unsaved.rules].map((path) => [path, cache.rules.get(path) ?? null] as const),
    git: [...unsaved.git].map((path) => [path, cache.git.get(path) ?? null] as const),
    gitFolders: [...unsaved.gitFolders].map((folder) => [folder, cache.gitFolders.has(folder)] as const),
  };
}

function applyLater(cache: StatCache, later: Later): void {
  for (const row of later.known) cache.restore(row);
  for (const path of later.removed) cache.remove(path);
  for (const [path, listing] of later.listings) cache.putListing(path, listing);
  for (const [path, names] of later.excluded) {
    if (names === null) cache.excluded.delete(path);
    else cache.excluded.set(path, names);
  }
  for (const [path, rules] of later.rules) {
    if (rules === null) cache.rules.delete(path);
    else cache.rules.set(path, rules);
  }
  for (const [path, git] of later.git ?? []) {
    if (git === null) cache.git.delete(path);
    else cache.git.set(path, git);
  }
  for (const [folder, isOne] of later.gitFolders ?? []) {
    if (isOne) cache.gitFolders.set(folder, true);
    else cache.gitFolders.delete(folder);
  }
}

function writeWhole(disk: Disk, file: string, kept: KeptCache): CacheFile {
  const [prefix, ...rest] = encode(kept);
  const pieces = [prefix, ...rest];
  const temporary = `${file}.tmp`;
  const fd = createAfresh(disk, temporary);
  try {
    for (const piece of pieces) writeFully(disk, fd, piece, null);
  } finally {
    disk.close(fd);
  }
  disk.rename(temporary, file);
  kept.cache.markSaved();
  return { bytes: pieces.reduce((sum, piece) => sum + piece.length, 0), crc: prefix.readUInt32LE(16) };
}

function createAfresh(disk: Disk, path: string): number {
  try {
    return disk.open(path, "create", 0o600);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
    disk.unlink(path);
    return disk.open(path, "create", 0o600);
  }
}

function readWhole(disk: Disk, file: string): ArrayBuffer | undefined {
  if (disk.lstat(file) === undefined) return undefined;
  const fd = disk.open(file, "read");
  try {
    const { size } = disk.fstat(fd);
    const buffer = new ArrayBuffer(size);
    return readFully(disk, fd, new Uint8Array(buffer), 0) === size ? buffer : undefined;
  } finally {
    disk.close(fd);
  }
}

function encode({ cache, seq }: KeptCache): [prefix: Buffer, ...rest: Buffer[]] {
  const table = cache.merge();
  const slots = Math.ceil(table.rows / 8) * 8;
  const header: Header = {
    format: FORMAT,
    littleEndian: LITTLE_ENDIAN,
    seq,
    rows: table.rows,
    slots,
    nameBytes: table.names.length,
    excluded: [...cache.excluded],
    rules: [...cache.rules],
    git: [...cache.git],
    gitFolders: [...cache.gitFolders.keys()],
    rootListings: cache.rootListings,
    totals: cache.allTotals,
  };
  const text = Buffer.from(toJson(header));
  const padded = Buffer.concat([text, Buffer.alloc((8 - (text.length % 8)) % 8, " ")]);
  const body = [padded, ...columnPieces(table.columns, slots), table.names];
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.write(MAGIC, "latin1");
  const bytes = body.reduce((sum, piece) => sum + piece.length, PREFIX_BYTES);
  const crc = body.reduce((sum, piece) => crc32(piece, sum), 0);
  prefix.writeDoubleLE(bytes, 8);
  prefix.writeUInt32LE(crc, 16);
  prefix.writeUInt32LE(padded.length, 20);
  return [prefix, ...body];
}

function columnPieces(columns: Columns, slots: number): Buffer[] {
  const order = Object.values(columns) as Columns[keyof Columns][];
  return order.map((column) => {
    const width = column === columns.hash ? 32 : column.BYTES_PER_ELEMENT;
    return Buffer.from(column.buffer, column.byteOffset, width * slots);
  });
}

function decode(buffer: ArrayBuffer): KeptCache | undefined {
  const bytes = Buffer.from(buffer);
  if (bytes.length < PREFIX_BYTES || bytes.toString("latin1", 0, 8) !== MAGIC) return undefined;
  const length = bytes.readDoubleLE(8);
  if (!Number.isInteger(length) || length < PREFIX_BYTES || length > bytes.length) return undefined;
  const crc = bytes.readUInt32LE(16);
  if (crc32(bytes.subarray(PREFIX_BYTES, length)) !== crc) return undefined;
  const at = PREFIX_BYTES + bytes.readUInt32LE(20);
  const header = JSON.parse(bytes.toString("utf8", PREFIX_BYTES, at), reviveBig) as Header;
  if (header.format !== FORMAT || header.littleEndian !== LITTLE_ENDIAN) return undefined;
  const namesAt = at + header.slots * ROW_BYTES;
  if (namesAt + header.nameBytes !== length) return undefined;
  const names = bytes.subarray(namesAt, length);
  const cache = new StatCache(new StatTable(columnsOver(buffer, at, header.slots), names, header.rows), header.totals);
  for (const [path, found] of header.excluded) cache.excluded.set(path as WorkspacePath, found);
  for (const [path, rules] of header.rules) cache.rules.set(path as WorkspacePath, rules as KnownRules);
  for (const [path, git] of header.git ?? []) cache.git.set(path as WorkspacePath, git as KnownGit);
  for (const folder of header.gitFolders ?? []) cache.gitFolders.set(folder, true);
  for (const [path, listing] of header.rootListings) cache.putListing(path as WorkspacePath, listing as Listing);
  const { seq, isWhole } = decodeLater(cache, bytes.subarray(length), header.seq);
  cache.markSaved();
  return { cache, seq, file: isWhole ? { bytes: length, crc } : undefined };
}

/**
 * Applies the appended batches to the cache, up to the first damaged batch. Returns the last event that the applied
 * batches cover. `isWhole` is false if a batch is damaged: the file must then be rewritten.
 */
function decodeLater(cache: StatCache, bytes: Buffer, first: number): { seq: number; isWhole: boolean } {
  let seq = first;
  for (let at = 0; at < bytes.length;) {
    if (at + 8 > bytes.length) return { seq, isWhole: false };
    const text = bytes.subarray(at + 8, at + 8 + bytes.readUInt32LE(at));
    if (text.length !== bytes.readUInt32LE(at) || crc32(text) !== bytes.readUInt32LE(at + 4))
      return { seq, isWhole: false };
    const later = JSON.parse(text.toString("utf8"), reviveBig) as Later;
    applyLater(cache, later);
    seq = later.seq;
    at += 8 + text.length;
  }
  return { seq, isWhole: true };
}
