import { createHash } from "node:crypto";

// Reads a git index. An index lists the paths that git tracks in one working tree, as bytes, in git's order.

/** The error for an index that cannot be used. The message is the reason. */
export class UnusableIndex extends Error {}

const HEADER_BYTES = 12;
/** The length, in bytes, of the part of an entry before its hash: times, device, inode, mode, owner, group and size. */
const STAT_BYTES = 40;
const MODE_AT = 24;
const LONG_NAME = 0xfff;
const HAS_MORE_FLAGS = 0x4000;
const KIND = 0o170000;
const REPOSITORY = 0o160000;
const SPARSE_FOLDER = 0o040000;

export interface GitIndex {
  readonly size: number;
  /** All names, concatenated, with a NUL after each. */
  readonly names: Buffer;
  /** The positions in `names` at which the names start, and the position after the NUL of the last name. */
  readonly starts: Uint32Array;
  /** For each name, 1 if it is a separate repository (a submodule), else 0. */
  readonly isRepository: Uint8Array;
}

/** The mode, the hash and the flags of one entry of an index, as the bytes in the index. */
export interface IndexedEntry {
  readonly mode: Buffer;
  readonly hash: Buffer;
  readonly flags: Buffer;
}

/**
 * Parses an index file (`git help format-index`, versions 2 to 4). `hashBytes` is 20 in a SHA-1 repository, and 32 in a
 * SHA-256 one. Throws `UnusableIndex` for a split, sparse or damaged index, and for an unknown version. Also throws
 * this error for an unknown extension that must not be ignored (see `refuseExtensions`). Calls `onEntry` for each
 * entry. A path with a merge conflict has one entry for each stage.
 */
export function parseGitIndex(bytes: Buffer, hashBytes: 20 | 32, onEntry?: (entry: IndexedEntry) => void): GitIndex {
  if (bytes.length < HEADER_BYTES + hashBytes || bytes.toString("latin1", 0, 4) !== "DIRC") refuse("it is damaged");
  const version = bytes.readUInt32BE(4);
  if (version < 2 || version > 4) refuse(`version ${version} is not known`);
  const end = bytes.length - hashBytes;
  if (!isWhole(bytes, end)) refuse("it is damaged");
  const reader = new EntryReader(bytes, { version, end, hashBytes, count: bytes.readUInt32BE(8) }, onEntry);
  const index = reader.read();
  refuseExtensions(bytes, reader.at, end);
  if (reader.isNameless) refuse("it is damaged");
  return index;
}

/**
 * Returns true if the checksum at the end of the index is correct or is all zeros. git writes zeros if it is told to
 * compute no checksum (`index.skipHash`).
 */
function isWhole(bytes: Buffer, end: number): boolean {
  const kept = bytes.subarray(end);
  if (kept.every((byte) => byte === 0)) return true;
  return createHash(kept.length === 20 ? "sha1" : "sha256")
    .update(bytes.subarray(0, end))
    .digest()
    .equals(kept);
}

function refuse(reason: string): never {
  throw new UnusableIndex(reason);
}

interface Layout {
  readonly version: number;
  readonly end: number;
  readonly hashBytes: number;
  readonly count: number;
}

class EntryReader {
  at = HEADER_BYTES;
  /** True if an entry has no name. In a split index, such an entry replaces an entry of the shared index. */
  isNameless = false;
  readonly #bytes: Buffer;
  readonly #layout: Layout;
  #names: Buffer;
  #used = 0;
  #size = 0;
  readonly #starts: Uint32Array;
  readonly #isRepository: Uint8Array;

  readonly #onEntry: ((entry: IndexedEntry) => void) | undefined;

  constructor(bytes: Buffer, layout: Layout, onEntry?: (entry: IndexedEntry) => void) {
    this.#onEntry = onEntry;
    // After the hash, each entry has at least four bytes: two bytes of flags, and two bytes for a name and its end.
    const most = Math.floor((layout.end - HEADER_BYTES) / (STAT_BYTES + layout.hashBytes + 4));
    if (layout.count > most) refuse("it is damaged");
    this.#bytes = bytes;
    this.#layout = layout;
    this.#names = Buffer.allocUnsafe(bytes.length);
    this.#starts = new Uint32Array(layout.count + 1);
    this.#isRepository = new Uint8Array(layout.count);
  }

  read(): GitIndex {
    for (let i = 0; i < this.#layout.count; i += 1) this.#entry();
    const size = this.#size;
    this.#starts[size] = this.#used;
    return {
      size,
      names: this.#names.subarray(0, this.#used),
      starts: this.#starts.subarray(0, size + 1),
      isRepository: this.#isRepository.subarray(0, size),
    };
  }

  #entry(): void {
    const { version, end, hashBytes } = this.#layout;
    const bytes = this.#bytes;
    const start = this.at;
    const flagsAt = start + STAT_BYTES + hashBytes;
    if (flagsAt + 4 > end) refuse("it is damaged");
    const kind = bytes.readUInt32BE(start + MODE_AT) & KIND;
    if (kind === SPARSE_FOLDER) refuse("it is sparse");
    const flags = bytes.readUInt16BE(flagsAt);
    const nameAt = flagsAt + ((flags & HAS_MORE_FLAGS) === 0 ? 2 : 4);
    this.#onEntry?.({
      mode: bytes.subarray(start + MODE_AT, start + MODE_AT + 4),
      hash: bytes.subarray(start + STAT_BYTES, flagsAt),
      flags: bytes.subarray(flagsAt, nameAt),
    });
    if (version === 4) this.#packedName(nameAt);
    else this.#plainName(start, nameAt, flags & LONG_NAME);
    this.#keep(kind === REPOSITORY);
  }

  /**
   * Reads a name in version 2 or 3. One to eight NULs follow the name, so that the length of the entry is a multiple of
   * eight.
   */
  #plainName(start: number, nameAt: number, length: number): void {
    const stop = length < LONG_NAME ? nameAt + length : this.#bytes.indexOf(0, nameAt + length);
    if (stop < 0 || stop >= this.#layout.end || this.#bytes[stop] !== 0) refuse("it is damaged");
    this.#put(this.#used, nameAt, stop);
    this.at = start + Math.floor((stop - start + 8) / 8) * 8;
  }

  /**
   * Reads a name in version 4. Such a name is stored as the number of bytes to remove from the end of the previous
   * name, and the bytes to append instead.
   */
  #packedName(nameAt: number): void {
    const last = this.#lastName();
    const gone = this.#number(nameAt);
    const stop = this.#bytes.indexOf(0, this.at);
    if (gone > last.length || stop < 0 || stop >= this.#layout.end) refuse("it is damaged");
    const kept = last.length - gone;
    this.#grow(kept + stop - this.at + 1);
    last.copy(this.#names, this.#used, 0, kept);
    this.#put(this.#used + kept, this.at, stop);
    this.at = stop + 1;
  }

  #lastName(): Buffer {
    return this.#size === 0 ? Buffer.alloc(0) : nameAt(this.#names, this.#starts, this.#size - 1, this.#used);
  }

  /** Reads a number as git's `encode_varint` writes it. */
  #number(from: number): number {
    let at = from;
    let byte = this.#bytes[at] ?? 0;
    let value = byte & 0x7f;
    while ((byte & 0x80) !== 0) {
      at += 1;
      byte = this.#bytes[at] ?? 0;
      value = (value + 1) * 128 + (byte & 0x7f);
      if (at >= this.#layout.end || value > this.#bytes.length) refuse("it is damaged");
    }
    this.at = at + 1;
    return value;
  }

  /**
   * Makes room for one more name. The names may have more bytes in total than the file, because they can share
   * prefixes.
   */
  #grow(length: number): void {
    if (this.#used + length <= this.#names.length) return;
    if (this.#used + length > MOST_NAMES) refuse(`its names have more than ${MOST_NAMES} bytes`);
    const more = Buffer.allocUnsafe(Math.min(MOST_NAMES, Math.max(this.#names.length * 2, this.#used + length)));
    this.#names.copy(more, 0, 0, this.#used);
    this.#names = more;
  }

  #pending = 0;

  #put(to: number, from: number, stop: number): void {
    this.#bytes.copy(this.#names, to, from, stop);
    const end = to + stop - from;
    this.#names[end] = 0;
    this.#pending = end + 1;
  }

  /** Adds the name that `#put` has copied last. A name with several stages (a merge conflict) is added only once. */
  #keep(isRepository: boolean): void {
    if (this.#pending - this.#used < 2) {
      this.isNameless = true;
      return;
    }
    const order = this.#size === 0 ? -1 : this.#compareWithLast();
    if (order > 0) refuse("it is damaged");
    if (order === 0) return;
    this.#starts[this.#size] = this.#used;
    this.#isRepository[this.#size] = isRepository ? 1 : 0;
    this.#size += 1;
    this.#used = this.#pending;
  }

  #compareWithLast(): number {
    const last = this.#starts[this.#size - 1] ?? 0;
    return this.#names.compare(this.#names, this.#used, this.#pending - 1, last, this.#used - 1);
  }
}

/** The maximum total length of the names, in bytes. */
const MOST_NAMES = 512 * 1024 ** 2;

function nameAt(names: Buffer, starts: Uint32Array, i: number, used = starts[i + 1] ?? 0): Buffer {
  return names.subarray(starts[i] ?? 0, used - 1);
}

export function indexedName({ names, starts }: GitIndex, i: number): Buffer {
  return nameAt(names, starts, i);
}

/** Returns the position of the first name in the index that is not less than `name`. */
export function placeInIndex({ names, starts, size }: GitIndex, name: Buffer): number {
  let low = 0;
  let high = size;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = names.compare(name, 0, name.length, starts[middle] ?? 0, (starts[middle + 1] ?? 0) - 1);
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Throws for a damaged extension, and for an extension whose name does not begin with a capital. By git's rule, a
 * reader that does not know such an extension must not use the index.
 */
function refuseExtensions(bytes: Buffer, from: number, end: number): void {
  for (let at = from; at < end;) {
    if (at + 8 > end) refuse("it is damaged");
    const name = bytes.toString("latin1", at, at + 4);
    if (name === "link") refuse("it is split (core.splitIndex)");
    if (name === "sdir") refuse("it is sparse (index.sparse)");
    if (!/^[A-Z]/.test(name)) refuse(`it has the extension ${JSON.stringify(name)}`);
    at += 8 + bytes.readUInt32BE(at + 4);
    if (at > end) refuse("it is damaged");
  }
}
