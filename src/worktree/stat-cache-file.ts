import { crc32 } from "node:zlib";
import type { WorkspacePath } from "../core/path.ts";
import type { Disk } from "../disk/disk.ts";
import type { Columns, Listing } from "./stat-table.ts";
import type { ExcludedName, KnownRules } from "./stat-cache.ts";
import { errnoOf } from "../core/errors.ts";
import { readFully, writeFully } from "../disk/write-fully.ts";
import { StatCache } from "./stat-cache.ts";
import { ROW_BYTES, StatTable, columnsOver } from "./stat-table.ts";

const MAGIC = "CHRSTAT1";
const FORMAT = 1;
const PREFIX_BYTES = 16;

/**
 * The file: magic (8 bytes), CRC-32 of everything after byte 16 (u32 LE), length of the header (u32 LE), the header as
 * JSON padded with spaces to a multiple of eight, the columns of the table one after the other (`slots` elements each,
 * native byte order), the bytes of all names.
 *
 * It is disposable: not synced, and anything wrong with it means that there is none.
 */
interface Header {
  readonly format: number;
  /** Of the machine that wrote it: columns are in native byte order. */
  readonly littleEndian: boolean;
  readonly seq: number;
  readonly rows: number;
  readonly slots: number;
  readonly nameBytes: number;
  readonly excluded: readonly (readonly [string, readonly ExcludedName[]])[];
  readonly rules: readonly (readonly [string, unknown])[];
  readonly rootListings: readonly (readonly [string, unknown])[];
}

/** A cache read from its file, and the log position that it was kept for. */
export interface LoadedCache {
  readonly cache: StatCache;
  readonly seq: number;
}

const BIG = /^-?\d+n$/;

function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => (typeof inner === "bigint" ? `${inner}n` : inner));
}

function reviveBig(key: string, value: unknown): unknown {
  return key.endsWith("Ns") || key === "ino" || key === "dev" ? toBig(value) : value;
}

function toBig(value: unknown): bigint {
  if (typeof value !== "string" || !BIG.test(value)) throw new RangeError("not a whole number");
  return BigInt(value.slice(0, -1));
}

const LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** Reads a cache; `undefined` when there is none, or it is damaged or of another format. */
export function loadStatCache(disk: Disk, file: string): LoadedCache | undefined {
  try {
    const buffer = readWhole(disk, file);
    return buffer === undefined ? undefined : decode(buffer);
  } catch (error) {
    if (errnoOf(error) !== undefined || error instanceof RangeError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Writes a cache beside the file and renames it into place. Throws the disk's errno. */
export function saveStatCache(disk: Disk, file: string, kept: LoadedCache): void {
  const pieces = encode(kept);
  const temporary = `${file}.tmp`;
  const fd = createAfresh(disk, temporary);
  try {
    for (const piece of pieces) writeFully(disk, fd, piece, null);
  } finally {
    disk.close(fd);
  }
  disk.rename(temporary, file);
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

function encode({ cache, seq }: LoadedCache): Buffer[] {
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
    rootListings: cache.rootListings,
  };
  const text = Buffer.from(toJson(header));
  const padded = Buffer.concat([text, Buffer.alloc((8 - (text.length % 8)) % 8, " ")]);
  const body = [padded, ...columnPieces(table.columns, slots), table.names];
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.write(MAGIC, "latin1");
  prefix.writeUInt32LE(
    body.reduce((crc, piece) => crc32(piece, crc), 0),
    8,
  );
  prefix.writeUInt32LE(padded.length, 12);
  return [prefix, ...body];
}

function columnPieces(columns: Columns, slots: number): Buffer[] {
  const order = Object.values(columns) as Columns[keyof Columns][];
  return order.map((column) => {
    const width = column === columns.hash ? 32 : column.BYTES_PER_ELEMENT;
    return Buffer.from(column.buffer, column.byteOffset, width * slots);
  });
}

function decode(buffer: ArrayBuffer): LoadedCache | undefined {
  const bytes = Buffer.from(buffer);
  if (bytes.length < PREFIX_BYTES || bytes.toString("latin1", 0, 8) !== MAGIC) return undefined;
  if (crc32(bytes.subarray(PREFIX_BYTES)) !== bytes.readUInt32LE(8)) return undefined;
  const at = PREFIX_BYTES + bytes.readUInt32LE(12);
  const header = JSON.parse(bytes.toString("utf8", PREFIX_BYTES, at), reviveBig) as Header;
  if (header.format !== FORMAT || header.littleEndian !== LITTLE_ENDIAN) return undefined;
  const namesAt = at + header.slots * ROW_BYTES;
  if (namesAt + header.nameBytes !== bytes.length) return undefined;
  const names = bytes.subarray(namesAt);
  const cache = new StatCache(new StatTable(columnsOver(buffer, at, header.slots), names, header.rows));
  for (const [path, found] of header.excluded) cache.excluded.set(path as WorkspacePath, found);
  for (const [path, rules] of header.rules) cache.rules.set(path as WorkspacePath, rules as KnownRules);
  for (const [path, listing] of header.rootListings) cache.putListing(path as WorkspacePath, listing as Listing);
  cache.markKept();
  return { cache, seq: header.seq };
}
