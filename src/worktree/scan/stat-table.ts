import { type Entry, type EntryKind, restOfTime } from "../../core/values/entry.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { KnownPath } from "../worktree.ts";
import { hashFromBytes, hashToBytes } from "../../core/values/hash.ts";
import { decodeName, pathToBytes } from "../../core/values/path.ts";
import { isRacy } from "../files/same-stat.ts";

/** The value for "no row". It is the parent of a top-level row, and the result for a path that is not in the table. */
export const NO_ROW = -1;

const RACY = 1;
const LISTED = 2;
const ASCII = 4;

/**
 * The kinds of rows; the column `kind` has positions in this list. `undefined` is the kind of a row without an entry.
 * Such a row exists only because rows beneath it have entries.
 */
const KINDS: readonly (EntryKind | undefined)[] = [undefined, "file", "symlink", "dir"];

/**
 * The state of a folder when its names were last listed. A folder's row keeps the times, inode and device of this
 * state, in place of those of the folder's last stat.
 */
export interface Listing {
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly ino: bigint;
  readonly dev: bigint;
  readonly racy: boolean;
  /** A fingerprint, in four 32-bit words, of the rules in force and the tracked names that were found. */
  readonly marks: readonly [number, number, number, number];
}

/** A known path. `racy`: the path's stat may not reveal a later change. */
export interface KnownRow extends KnownPath {
  readonly racy: boolean;
}

/** A path to be remembered. `isCertain`: true if every later change shows in the stat, even if the times are recent. */
export interface NotedPath extends KnownPath {
  readonly isCertain?: boolean;
}

/** Returns the row for a path that was read or written at or after `readAtNs` (ns since the epoch). */
export function knownRow({ entry, stat, isCertain }: NotedPath, readAtNs: bigint): KnownRow {
  return { entry, stat, racy: isCertain !== true && isRacy(stat, readAtNs) };
}

type Layout = readonly (readonly [keyof Columns, number, (buffer: ArrayBuffer, at: number, rows: number) => unknown])[];

/** One typed array per property, one element per row. */
export interface Columns {
  readonly mtimeNs: BigInt64Array;
  readonly ctimeNs: BigInt64Array;
  readonly ino: BigUint64Array;
  readonly dev: BigUint64Array;
  readonly size: Float64Array;
  readonly mtimeMs: Float64Array;
  readonly parent: Int32Array;
  /** The number of the first row after this row that is not beneath it. */
  readonly end: Uint32Array;
  /** The offset, in the bytes of all names, at which the name of this row ends. */
  readonly nameEnd: Uint32Array;
  readonly mtimeRestNs: Uint32Array;
  readonly nlink: Uint32Array;
  readonly uid: Uint32Array;
  readonly mode: Uint16Array;
  readonly entryMode: Uint16Array;
  readonly kind: Uint8Array;
  readonly flags: Uint8Array;
  /** 32 bytes for each row: the hash of a file or link, or the marks of a folder's listing. */
  readonly hash: Uint8Array;
}

/**
 * The columns, in the order in which they lie in a buffer. The number after each name is the width of one element, in
 * bytes. The wide columns come first, so that each column is aligned.
 */
const LAYOUT: Layout = [
  ["mtimeNs", 8, (b, at, rows) => new BigInt64Array(b, at, rows)],
  ["ctimeNs", 8, (b, at, rows) => new BigInt64Array(b, at, rows)],
  ["ino", 8, (b, at, rows) => new BigUint64Array(b, at, rows)],
  ["dev", 8, (b, at, rows) => new BigUint64Array(b, at, rows)],
  ["size", 8, (b, at, rows) => new Float64Array(b, at, rows)],
  ["mtimeMs", 8, (b, at, rows) => new Float64Array(b, at, rows)],
  ["parent", 4, (b, at, rows) => new Int32Array(b, at, rows)],
  ["end", 4, (b, at, rows) => new Uint32Array(b, at, rows)],
  ["nameEnd", 4, (b, at, rows) => new Uint32Array(b, at, rows)],
  ["mtimeRestNs", 4, (b, at, rows) => new Uint32Array(b, at, rows)],
  ["nlink", 4, (b, at, rows) => new Uint32Array(b, at, rows)],
  ["uid", 4, (b, at, rows) => new Uint32Array(b, at, rows)],
  ["mode", 2, (b, at, rows) => new Uint16Array(b, at, rows)],
  ["entryMode", 2, (b, at, rows) => new Uint16Array(b, at, rows)],
  ["kind", 1, (b, at, rows) => new Uint8Array(b, at, rows)],
  ["flags", 1, (b, at, rows) => new Uint8Array(b, at, rows)],
  ["hash", 32, (b, at, rows) => new Uint8Array(b, at, rows * 32)],
];

export const ROW_BYTES = LAYOUT.reduce((sum, [, bytes]) => sum + bytes, 0);

/** Returns views of the columns in `buffer`, from the byte `at` on. `at` and `rows` must be multiples of eight. */
export function columnsOver(buffer: ArrayBuffer, at: number, rows: number): Columns {
  const made: Partial<Record<keyof Columns, unknown>> = {};
  let offset = at;
  for (const [name, bytes, make] of LAYOUT) {
    made[name] = make(buffer, offset, rows);
    offset += bytes * rows;
  }
  return made as unknown as Columns;
}

/**
 * Known paths in columns, in path order (a folder directly before its contents). A path takes about 110 bytes plus its
 * name. A table can be read from a file without parsing. It is immutable once built.
 */
export class StatTable {
  readonly columns: Columns;
  readonly names: Buffer;
  readonly rows: number;

  constructor(columns: Columns, names: Buffer, rows: number) {
    this.columns = columns;
    this.names = names;
    this.rows = rows;
  }

  /** Returns the row of a path, or `NO_ROW`. */
  find(path: WorkspacePath): number {
    if (path === "") return NO_ROW;
    let row = NO_ROW;
    for (const part of path.split("/")) {
      row = this.#child(row, pathToBytes(part));
      if (row === NO_ROW) return NO_ROW;
    }
    return row;
  }

  /**
   * Returns the row of a folder's first child. `NO_ROW` stands for the top folder. If the folder is empty, returns the
   * same as `endOf`.
   */
  firstChild(row: number): number {
    return row + 1;
  }

  /**
   * Returns the number of the first row after the given row that is not beneath it. For a child, this is the next child
   * of the same folder, if there is one.
   */
  endOf(row: number): number {
    return row === NO_ROW ? this.rows : (this.columns.end[row] ?? 0);
  }

  nameOf(row: number): string {
    const { nameEnd, flags } = this.columns;
    const start = row === 0 ? 0 : (nameEnd[row - 1] ?? 0);
    const end = nameEnd[row] ?? 0;
    if (((flags[row] ?? 0) & ASCII) !== 0) return this.names.toString("latin1", start, end);
    return decodeName(this.names.subarray(start, end));
  }

  /** Returns the kind of the entry in a row; `undefined` if the row has no entry. */
  kindOf(row: number): EntryKind | undefined {
    return KINDS[this.columns.kind[row] ?? 0];
  }

  isRacy(row: number): boolean {
    return ((this.columns.flags[row] ?? 0) & RACY) !== 0;
  }

  /** True if the stat in a row equals `stat`. The owner and the number of links are not compared. */
  hasStat(row: number, stat: FileStat): boolean {
    const c = this.columns;
    return (
      c.mtimeNs[row] === stat.mtimeNs &&
      c.ctimeNs[row] === stat.ctimeNs &&
      c.ino[row] === stat.ino &&
      c.size[row] === stat.size &&
      c.dev[row] === stat.dev &&
      c.mode[row] === stat.mode
    );
  }

  modeOf(row: number): number {
    return this.columns.entryMode[row] ?? 0;
  }

  sizeOf(row: number): number {
    return this.columns.size[row] ?? 0;
  }

  listingOf(row: number): Listing | undefined {
    const c = this.columns;
    if (((c.flags[row] ?? 0) & LISTED) === 0) return undefined;
    const at = row * 32;
    return {
      mtimeNs: c.mtimeNs[row] ?? 0n,
      ctimeNs: c.ctimeNs[row] ?? 0n,
      ino: c.ino[row] ?? 0n,
      dev: c.dev[row] ?? 0n,
      racy: this.isRacy(row),
      marks: [this.#wordAt(at), this.#wordAt(at + 4), this.#wordAt(at + 8), this.#wordAt(at + 12)],
    };
  }

  #wordAt(at: number): number {
    const { hash } = this.columns;
    const low = (hash[at] ?? 0) | ((hash[at + 1] ?? 0) << 8) | ((hash[at + 2] ?? 0) << 16);
    return (low | ((hash[at + 3] ?? 0) << 24)) >>> 0;
  }

  /** Returns the known path in a row; `undefined` if the row has no entry. */
  knownAt(row: number, path: WorkspacePath): KnownRow | undefined {
    const kind = this.kindOf(row);
    if (kind === undefined) return undefined;
    const c = this.columns;
    const isDir = kind === "dir";
    const size = c.size[row] ?? 0;
    const stat: FileStat = {
      kind,
      mode: c.mode[row] ?? 0,
      size,
      mtimeNs: c.mtimeNs[row] ?? 0n,
      ctimeNs: c.ctimeNs[row] ?? 0n,
      ino: c.ino[row] ?? 0n,
      dev: c.dev[row] ?? 0n,
      nlink: c.nlink[row] ?? 0,
      uid: c.uid[row] ?? 0,
    };
    const hash: Hash | undefined = isDir ? undefined : hashFromBytes(c.hash.subarray(row * 32, row * 32 + 32));
    const entry: Entry = {
      path,
      kind,
      mode: c.entryMode[row] ?? 0,
      size: isDir ? 0 : size,
      mtimeMs: isDir ? 0 : (c.mtimeMs[row] ?? 0),
      mtimeRestNs: isDir ? undefined : restOfTime(c.mtimeRestNs[row] ?? 0),
      hash,
    };
    return { entry, stat, racy: this.isRacy(row) };
  }

  #child(folder: number, name: Buffer): number {
    let low = this.firstChild(folder);
    let high = this.endOf(folder);
    while (low < high) {
      let middle = (low + high) >>> 1;
      while (this.columns.parent[middle] !== folder) middle = this.columns.parent[middle] ?? folder;
      const order = this.#compareName(middle, name);
      if (order === 0) return middle;
      if (order < 0) low = this.columns.end[middle] ?? high;
      else high = middle;
    }
    return NO_ROW;
  }

  #compareName(row: number, name: Buffer): number {
    const { nameEnd } = this.columns;
    return -name.compare(this.names, row === 0 ? 0 : (nameEnd[row - 1] ?? 0), nameEnd[row] ?? 0);
  }
}

/**
 * Builds a table from paths that are given in path order. A folder that is not given, but has given paths beneath it,
 * gets a row without an entry.
 */
export class StatTableBuilder {
  #columns: Columns;
  #capacity: number;
  #names: Buffer;
  #nameBytes = 0;
  #rows = 0;
  readonly #open: { readonly path: string; readonly row: number }[] = [];

  /** `expected` (rows) and `nameBytes` are estimates. Good estimates avoid reallocation. */
  constructor(expected: number, nameBytes: number) {
    this.#capacity = Math.ceil((expected + 8) / 8) * 8;
    this.#columns = columnsOver(new ArrayBuffer(this.#capacity * ROW_BYTES), 0, this.#capacity);
    this.#names = Buffer.allocUnsafe(nameBytes + 1024);
  }

  copy(path: WorkspacePath, from: StatTable, row: number, listing: Listing | undefined): void {
    const to = this.#append(path);
    copyWide(from.columns, row, this.#columns, to);
    copyNarrow(from.columns, row, this.#columns, to);
    if (listing !== undefined) this.#putListing(to, listing);
  }

  add(path: WorkspacePath, known: KnownRow, listing: Listing | undefined): void {
    const row = this.#append(path);
    const { entry, stat } = known;
    const c = this.#columns;
    c.mtimeNs[row] = stat.mtimeNs;
    c.ctimeNs[row] = stat.ctimeNs;
    c.ino[row] = stat.ino;
    c.dev[row] = stat.dev;
    // The size of a file or link is taken from the entry, because an entry that was taken from the log has no real
    // stat.
    c.size[row] = entry.kind === "dir" ? stat.size : entry.size;
    c.mtimeMs[row] = entry.mtimeMs;
    c.mtimeRestNs[row] = entry.mtimeRestNs ?? 0;
    c.nlink[row] = stat.nlink;
    c.uid[row] = stat.uid;
    c.mode[row] = stat.mode;
    c.entryMode[row] = entry.mode;
    c.kind[row] = KINDS.indexOf(entry.kind);
    c.flags[row] = known.racy ? RACY : 0;
    this.#keepAscii(row, path);
    if (entry.hash !== undefined) c.hash.set(hashToBytes(entry.hash), row * 32);
    if (listing !== undefined) this.#putListing(row, listing);
  }

  finish(): StatTable {
    this.#closeDownTo(0);
    return new StatTable(this.#columns, this.#names.subarray(0, this.#nameBytes), this.#rows);
  }

  #putListing(row: number, listing: Listing): void {
    const c = this.#columns;
    c.mtimeNs[row] = listing.mtimeNs;
    c.ctimeNs[row] = listing.ctimeNs;
    c.ino[row] = listing.ino;
    c.dev[row] = listing.dev;
    c.flags[row] = ((c.flags[row] ?? 0) & ASCII) | LISTED | (listing.racy ? RACY : 0);
    const bytes = Buffer.alloc(32);
    listing.marks.forEach((word, i) => bytes.writeUInt32LE(word, i * 4));
    c.hash.set(bytes, row * 32);
  }

  #keepAscii(row: number, path: string): void {
    const flags = this.#columns.flags;
    const start = row === 0 ? 0 : (this.#columns.nameEnd[row - 1] ?? 0);
    const chars = path.length - (path.lastIndexOf("/") + 1);
    // If a name has as many bytes as characters, each character is ASCII, or a lone surrogate for a byte that is not
    // UTF-8.
    const isAscii = (this.#columns.nameEnd[row] ?? 0) - start === chars && path.isWellFormed();
    flags[row] = ((flags[row] ?? 0) & ~ASCII) | (isAscii ? ASCII : 0);
  }

  #append(path: string): number {
    const slash = path.lastIndexOf("/");
    const folder = slash < 0 ? "" : path.slice(0, slash);
    while (this.#open.length > 0 && !isBeneath(path, this.#open.at(-1)?.path ?? ""))
      this.#closeDownTo(this.#open.length - 1);
    if ((this.#open.at(-1)?.path ?? "") !== folder) this.#append(folder);
    this.#reserve();
    const row = this.#rows;
    this.#rows += 1;
    this.#columns.parent[row] = this.#open.at(-1)?.row ?? NO_ROW;
    this.#putName(row, slash < 0 ? path : path.slice(slash + 1));
    this.#open.push({ path, row });
    return row;
  }

  #putName(row: number, name: string): void {
    if (this.#names.length - this.#nameBytes < name.length * 3) {
      this.#names = Buffer.concat([this.#names, Buffer.allocUnsafe(this.#names.length + name.length * 3)]);
    }
    if (name.isWellFormed()) this.#nameBytes += this.#names.write(name, this.#nameBytes);
    else this.#nameBytes += pathToBytes(name).copy(this.#names, this.#nameBytes);
    this.#columns.nameEnd[row] = this.#nameBytes;
  }

  #closeDownTo(depth: number): void {
    for (const { row } of this.#open.splice(depth)) this.#columns.end[row] = this.#rows;
  }

  #reserve(): void {
    if (this.#rows < this.#capacity) return;
    this.#capacity *= 2;
    const wider = columnsOver(new ArrayBuffer(this.#capacity * ROW_BYTES), 0, this.#capacity);
    for (const [name] of LAYOUT) copyColumn(this.#columns[name], wider[name]);
    this.#columns = wider;
  }
}

type Column = Columns[keyof Columns];

function copyWide(from: Columns, row: number, to: Columns, at: number): void {
  to.mtimeNs[at] = from.mtimeNs[row] ?? 0n;
  to.ctimeNs[at] = from.ctimeNs[row] ?? 0n;
  to.ino[at] = from.ino[row] ?? 0n;
  to.dev[at] = from.dev[row] ?? 0n;
  to.size[at] = from.size[row] ?? 0;
  to.mtimeMs[at] = from.mtimeMs[row] ?? 0;
}

function copyNarrow(from: Columns, row: number, to: Columns, at: number): void {
  to.mtimeRestNs[at] = from.mtimeRestNs[row] ?? 0;
  to.nlink[at] = from.nlink[row] ?? 0;
  to.uid[at] = from.uid[row] ?? 0;
  to.mode[at] = from.mode[row] ?? 0;
  to.entryMode[at] = from.entryMode[row] ?? 0;
  to.kind[at] = from.kind[row] ?? 0;
  to.flags[at] = from.flags[row] ?? 0;
  for (let i = 0; i < 32; i += 1) to.hash[at * 32 + i] = from.hash[row * 32 + i] ?? 0;
}

function copyColumn(from: Column, to: Column): void {
  new Uint8Array(to.buffer, to.byteOffset).set(new Uint8Array(from.buffer, from.byteOffset, from.byteLength));
}

function isBeneath(path: string, folder: string): boolean {
  return path.length > folder.length && path.startsWith(folder) && path.charCodeAt(folder.length) === 0x2f;
}
