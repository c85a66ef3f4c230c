import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { ConfinedFs, OpenedFile } from "./confined-fs.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { isSqliteDatabase } from "../../core/tree/sqlite-unit.ts";
import { isSameStat } from "./same-stat.ts";

/** The maximum size, in bytes, of a content that a sink gets as a whole. A sink gets a larger content in pieces. */
export const SMALL_BYTES = 8 * 1024 * 1024;

const PIECE_BYTES = 1024 * 1024;

/** The number of times that a changing file is reread before it counts as `unstable`. */
const RETRIES = 3;

/**
 * Takes the contents of files. Both methods return the hash of the bytes. Most sinks also store the bytes. If a large
 * file changes while it is read, `large` is called again for the file.
 */
export interface StableSink {
  /** `content` is only valid during the call, because its memory is used again for the next file. */
  small(content: Uint8Array): Hash;
  /**
   * Each piece is only valid until the next piece is requested. `source` is the open file, for a sink that clones the
   * file (see `Disk.clone`).
   */
  large(pieces: Iterable<Uint8Array>, source: { readonly fd: number }): { readonly hash: Hash; readonly size: number };
}

/**
 * The result of reading one file.
 *
 * - `read`: the sink got the content; `stat` was read after the last byte. `unstable`: the file changed during every
 *   attempt. The hash is that of the content that the sink got. The file may never have had exactly this content.
 * - `gone`: the path does not exist (any longer), or its parent is not a folder.
 * - `unreadable`: the file cannot be read; `detail` is the errno.
 * - `other`: the path is now a link, a folder or a special file.
 */
export type StableRead =
  | {
      readonly kind: "read";
      readonly stat: FileStat;
      readonly hash: Hash;
      readonly size: number;
      readonly unstable: boolean;
      /** True if the file begins like an SQLite database. */
      readonly isDatabase: boolean;
    }
  | { readonly kind: "gone" }
  | { readonly kind: "unreadable"; readonly detail: string }
  | { readonly kind: "other"; readonly stat: FileStat };

/**
 * The buffer for all reads in this thread. Each thread loads this module, and so has a buffer of its own. The buffer
 * grows with the size of the small files that are read.
 */
let buffer = Buffer.allocUnsafe(256 * 1024);

/**
 * Reads a file into a sink. The stat is read before and after the content. If the two stats differ, rereads the file,
 * at most `RETRIES` times, so that hash, content and stat belong together. This function is synchronous, because it is
 * made for worker threads. Rethrows errors of the sink.
 */
export function readStable(fs: ConfinedFs, path: WorkspacePath, sink: StableSink): StableRead {
  const opened = openFor(fs, path);
  if ("kind" in opened) return opened;
  using file = opened;
  const reader = { read: (into: Uint8Array, at: number) => fs.read(file, into, at), stat: () => fs.fstat(file) };
  const first = reader.stat();
  if (first.kind !== "file") return { kind: "other", stat: first };
  try {
    return readSettled(reader, file, sink, first);
  } catch (error) {
    if (error instanceof SourceError) return { kind: "unreadable", detail: error.errno };
    throw error;
  }
}

/** The errnos of a failed open that can mean that the path did not exist at that moment, or was no regular file. */
const REPLACED: ReadonlySet<string> = new Set(["ENOENT", "ELOOP", "ENOTDIR", "ENXIO"]);

interface Source {
  read(into: Uint8Array, at: number): number;
  stat(): FileStat;
}

/** A failure to read the user's file, as opposed to a failure of the sink. */
class SourceError extends Error {
  readonly errno: string;
  constructor(errno: string) {
    super(errno);
    this.errno = errno;
  }
}

function openFor(fs: ConfinedFs, path: WorkspacePath): OpenedFile | StableRead {
  for (let attempt = 0; ; attempt += 1) {
    let errno: string | undefined;
    try {
      return fs.openRead(path);
    } catch (error) {
      errno = errnoOf(error);
      if (errno === undefined) throw error;
    }
    // Another program may be replacing the file at this moment. If a regular file is at the path now, try to open it
    // once more.
    const stat = fs.lstat(path);
    if (stat === undefined) return { kind: "gone" };
    if (stat.kind !== "file") return { kind: "other", stat };
    if (attempt > 0 || !REPLACED.has(errno)) return { kind: "unreadable", detail: errno };
  }
}

function readSettled(source: Source, file: { readonly fd: number }, sink: StableSink, first: FileStat): StableRead {
  let before = first;
  for (let attempt = 0; ; attempt += 1) {
    const last = attempt === RETRIES;
    const small = before.size <= SMALL_BYTES;
    const length = small ? fill(source, before.size) : 0;
    const streamed = small ? undefined : sink.large(piecesOf(source), { fd: file.fd });
    const isDatabase = isSqliteDatabase(small ? buffer.subarray(0, length) : startOf(source));
    const after = source.stat();
    const size = streamed?.size ?? length;
    const settled = isSameStat(before, after) && size === after.size;
    if (settled || last) {
      const hash = streamed?.hash ?? sink.small(buffer.subarray(0, length));
      return { kind: "read", stat: after, hash, size, unstable: !settled, isDatabase };
    }
    before = after;
  }
}

const START_BYTES = 64;

function startOf(source: Source): Uint8Array {
  const start = Buffer.alloc(START_BYTES);
  return start.subarray(0, readPiece(source, start, 0));
}

/**
 * Reads the file into `buffer`. Returns the number of bytes read; `expected + 1` means that the file has more bytes
 * than expected.
 */
function fill(source: Source, expected: number): number {
  if (buffer.length < expected + 1) buffer = Buffer.allocUnsafe(Math.min(SMALL_BYTES + 1, (expected + 1) * 2));
  let length = 0;
  while (length <= expected) {
    const count = readPiece(source, buffer.subarray(length, expected + 1), length);
    if (count === 0) return length;
    length += count;
  }
  return length;
}

function* piecesOf(source: Source): Generator<Uint8Array> {
  if (buffer.length < PIECE_BYTES) buffer = Buffer.allocUnsafe(PIECE_BYTES);
  for (let at = 0; ;) {
    const count = readPiece(source, buffer.subarray(0, PIECE_BYTES), at);
    if (count === 0) return;
    yield buffer.subarray(0, count);
    at += count;
  }
}

function readPiece(source: Source, into: Uint8Array, at: number): number {
  try {
    return source.read(into, at);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    throw new SourceError(errno);
  }
}
