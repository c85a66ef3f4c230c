import { errnoOf } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { besideDatabase, isSqliteDatabase, UNIT_SUFFIXES, type UnitSuffix } from "../../core/tree/sqlite-unit.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { ConfinedFs, OpenedFile } from "./confined-fs.ts";
import type { StableSink } from "./read-stable.ts";
import { isSameStat } from "./same-stat.ts";

// This file reads a live SQLite database together with its companion files (`-wal`, `-journal`). The database and its
// companion files are called a unit. SQLite can open the copies of a unit in the same way as it could open the
// originals after a crash. The files are read as plain bytes, because SQLite could change the database (by a
// checkpoint) when it opens the database.
//
// The database is read before its companion files. A checkpoint writes a page into the database only after the page is
// in the `-wal`. A transaction overwrites a page only after the old page is in the `-journal`. Therefore, the companion
// file has every page that changed while the database was read. This holds only if the companion file is of the same
// generation before and after the read: a restarted `-wal` has other salts, and a new `-journal` has another nonce. A
// half-written frame at the end of the `-wal` is harmless, because the checksum of the frame makes SQLite stop before
// the frame. Without a companion file of this kind, the copies are consistent only if the database did not change
// during the read.

export interface UnitPart {
  readonly stat: FileStat;
  readonly hash: Hash;
  readonly size: number;
  /**
   * True if the file changed while it was read. The copy is then consistent only together with the copies of the other
   * files of its unit.
   */
  readonly moved: boolean;
}

export interface UnitRead {
  /**
   * True if the copies are proved to be consistent with each other. False if changes of the files prevented the proof
   * in every attempt, or if a companion file could not be read.
   */
  readonly proved: boolean;
  readonly database: UnitPart;
  /** The companion files that exist and could be read. */
  readonly beside: ReadonlyMap<UnitSuffix, UnitPart>;
  /**
   * The companion files that exist but that this process may not read, each with the errno. Without these files, the
   * copies may be incomplete.
   */
  readonly unreadable: ReadonlyMap<UnitSuffix, string>;
}

const ATTEMPTS = 3;
const PIECE_BYTES = 1024 * 1024;
/**
 * The size in bytes up to which a file is read into memory, because that shortens the read. The sink, which stores or
 * hashes contents, gets such a file once, after the last attempt. The sink gets a larger file in every attempt.
 */
const HELD_BYTES = 64 * 1024 * 1024;
/** The size of a database's header, which contains the change counter. */
const HEADER_BYTES = 100;
/**
 * The number of bytes at the start of a companion file that identify its generation. `-wal`: the whole header.
 * `-journal`: magic, number of records, nonce, sizes of the database, sector and page.
 */
const MARK_BYTES = { "-wal": 32, "-journal": 28 } as const;
/** The offset, in the header of a `-journal`, of its number of records. This number grows within one transaction. */
const RECORDS_AT = 8;
const JOURNAL_MAGIC = Buffer.from("d9d505f920a163d7", "hex");

/** Reads a database and its companion files. Returns `undefined` if no readable file is at `path`. */
export function readSqliteUnit(fs: ConfinedFs, path: WorkspacePath, sink: StableSink): UnitRead | undefined {
  for (let attempt = 1; ; attempt += 1) {
    const looked = attemptOf(fs, path, sink);
    if (looked === undefined) return undefined;
    if (looked.proved || looked.unreadable.size > 0 || attempt === ATTEMPTS) return stored(looked, sink);
  }
}

/** A file that was read. `content`: its bytes, or the hash that the sink returned for them. */
interface Looked extends Omit<UnitPart, "hash"> {
  readonly content: Buffer | Hash;
}

interface LookedUnit {
  readonly proved: boolean;
  readonly database: Looked;
  readonly beside: ReadonlyMap<UnitSuffix, Looked>;
  readonly unreadable: UnitRead["unreadable"];
}

function stored({ proved, database, beside, unreadable }: LookedUnit, sink: StableSink): UnitRead {
  const put = ({ content, ...part }: Looked): UnitPart => ({
    ...part,
    hash: typeof content === "string" ? content : sink.small(content),
  });
  const parts = new Map([...beside].map(([suffix, part]) => [suffix, put(part)]));
  return { proved, database: put(database), beside: parts, unreadable };
}

export function isDatabaseFile(fs: ConfinedFs, path: WorkspacePath): boolean {
  return isSqliteDatabase(headerOf(fs, path) ?? new Uint8Array());
}

function attemptOf(fs: ConfinedFs, path: WorkspacePath, sink: StableSink): LookedUnit | undefined {
  const marks = marksOf(fs, path);
  const header = headerOf(fs, path);
  const database = readPart(fs, path, sink);
  if (database === undefined || header === undefined) return undefined;
  const beside = new Map<UnitSuffix, Looked>();
  for (const suffix of marks.keys()) {
    const part = readPart(fs, besideDatabase(path, suffix), sink);
    if (part !== undefined) beside.set(suffix, part);
  }
  const after = marksOf(fs, path);
  const now = fs.lstat(path);
  const isSameFile = now?.kind === "file" && now.ino === database.stat.ino && now.dev === database.stat.dev;
  const isSameGeneration = UNIT_SUFFIXES.every((suffix) => marks.get(suffix)?.text === after.get(suffix)?.text);
  const isCovered = [...marks.values()].some((mark) => mark.covers);
  const isStill =
    !database.moved && isSameStat(database.stat, now ?? database.stat) && isEqual(header, headerOf(fs, path));
  const unreadable = unreadableOf(fs, path, beside);
  const isWhole = isSameFile && isSameGeneration && unreadable.size === 0;
  return { proved: isWhole && (isCovered || isStill), database, beside, unreadable };
}

/** Errnos of opening a file that exists but that this process may not read. */
const NOT_PERMITTED: ReadonlySet<string> = new Set(["EACCES", "EPERM"]);

/**
 * Returns the companion files that exist but that this process may not read, each with the errno. These files may hold
 * pages that the database lacks.
 */
function unreadableOf(
  fs: ConfinedFs,
  path: WorkspacePath,
  read: ReadonlyMap<UnitSuffix, Looked>,
): Map<UnitSuffix, string> {
  const unreadable = new Map<UnitSuffix, string>();
  for (const suffix of UNIT_SUFFIXES) {
    const beside = besideDatabase(path, suffix);
    if (read.has(suffix) || fs.lstat(beside)?.kind !== "file") continue;
    try {
      fs.openRead(beside)[Symbol.dispose]();
    } catch (error) {
      const errno = errnoOf(error) ?? "";
      if (NOT_PERMITTED.has(errno)) unreadable.set(suffix, errno);
      else if (!NOT_THERE.has(errno)) throw error;
    }
  }
  return unreadable;
}

interface Mark {
  /** The identity of the companion file's generation (see the top of this file). */
  readonly text: string;
  /** True if SQLite can recover, from this file, the pages of the database that change while the database is read. */
  readonly covers: boolean;
}

function marksOf(fs: ConfinedFs, path: WorkspacePath): Map<UnitSuffix, Mark> {
  const marks = new Map<UnitSuffix, Mark>();
  for (const suffix of UNIT_SUFFIXES) {
    const found = startOf(fs, besideDatabase(path, suffix), MARK_BYTES[suffix]);
    if (found !== undefined) marks.set(suffix, markOf(suffix, found));
  }
  return marks;
}

function markOf(suffix: UnitSuffix, { stat, start }: { readonly stat: FileStat; readonly start: Buffer }): Mark {
  const isWhole = start.length === MARK_BYTES[suffix];
  const isHot = isWhole && (suffix === "-wal" || start.subarray(0, JOURNAL_MAGIC.length).equals(JOURNAL_MAGIC));
  const known = Buffer.from(start);
  if (suffix === "-journal" && isHot) known.fill(0, RECORDS_AT, RECORDS_AT + 4);
  return { text: `${stat.dev}:${stat.ino}:${known.toString("hex")}`, covers: isHot };
}

function headerOf(fs: ConfinedFs, path: WorkspacePath): Buffer | undefined {
  return startOf(fs, path, HEADER_BYTES)?.start;
}

function isEqual(one: Buffer, other: Buffer | undefined): boolean {
  return other !== undefined && one.equals(other);
}

/** Returns the stat and the first bytes of a file; `undefined` if no readable file is at the path. */
function startOf(fs: ConfinedFs, path: WorkspacePath, bytes: number): { stat: FileStat; start: Buffer } | undefined {
  using file = openedFile(fs, path);
  if (file === undefined) return undefined;
  const start = Buffer.alloc(bytes);
  return { stat: fs.fstat(file), start: start.subarray(0, fill(fs, file, start, 0)) };
}

/** Errnos of opening a path at which there is no readable file. */
const NOT_THERE: ReadonlySet<string> = new Set(["ENOENT", "ELOOP", "ENOTDIR", "ENXIO", "EACCES", "EPERM", "EISDIR"]);

function openedFile(fs: ConfinedFs, path: WorkspacePath): OpenedFile | undefined {
  if (fs.lstat(path)?.kind !== "file") return undefined;
  try {
    return fs.openRead(path);
  } catch (error) {
    if (NOT_THERE.has(errnoOf(error) ?? "")) return undefined;
    throw error;
  }
}

function readPart(fs: ConfinedFs, path: WorkspacePath, sink: StableSink): Looked | undefined {
  using file = openedFile(fs, path);
  if (file === undefined) return undefined;
  const before = fs.fstat(file);
  if (before.kind !== "file") return undefined;
  const read = readUpTo(fs, file, { size: before.size, sink });
  const after = fs.fstat(file);
  return { ...read, stat: after, moved: !isSameStat(before, after) || read.size !== after.size };
}

/**
 * Reads at most `size` bytes, which is the size of the file when it was opened. Frames that were appended to a `-wal`
 * later are therefore left out. The database was read before the `-wal`, and needs none of these frames.
 */
function readUpTo(
  fs: ConfinedFs,
  file: OpenedFile,
  { size, sink }: { readonly size: number; readonly sink: StableSink },
): Pick<Looked, "content" | "size"> {
  if (size > HELD_BYTES) {
    const { hash, size: length } = sink.large(pieces(fs, file, size), { fd: file.fd });
    return { content: hash, size: length };
  }
  const content = Buffer.allocUnsafe(size);
  const length = fill(fs, file, content, 0);
  return { content: content.subarray(0, length), size: length };
}

function* pieces(fs: ConfinedFs, file: OpenedFile, size: number): Generator<Uint8Array> {
  const piece = Buffer.alloc(PIECE_BYTES);
  for (let at = 0; at < size;) {
    const count = fill(fs, file, piece.subarray(0, Math.min(PIECE_BYTES, size - at)), at);
    if (count === 0) return;
    yield piece.subarray(0, count);
    at += count;
  }
}

/** Fills `into` with the bytes of a file from the offset `from` on. Returns the number of bytes read. */
function fill(fs: ConfinedFs, file: OpenedFile, into: Buffer, from: number): number {
  let length = 0;
  while (length < into.length) {
    const count = fs.read(file, into.subarray(length), from + length);
    if (count === 0) break;
    length += count;
  }
  return length;
}
