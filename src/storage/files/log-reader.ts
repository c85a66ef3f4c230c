import { MAX_LINE_BYTES } from "../../core/log/chain.ts";
import { errnoOf } from "../../core/values/errors.ts";
import type { Disk } from "../../disk/disk.ts";
import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import type { LogPosition, RawLine } from "../event-log.ts";
import { firstSeq, newlineAfter } from "./log-tail.ts";

const NEWLINE = 0x0a;
const CHUNK_BYTES = 1024 * 1024;
/**
 * The size of the first buffer. The first buffer is small, because often only the first line is wanted. The buffer
 * doubles before each later read, up to `CHUNK_BYTES`. Beyond `CHUNK_BYTES`, the buffer grows only for a line that does
 * not fit.
 */
const FIRST_CHUNK_BYTES = 4 * 1024;
/** The number of chunks that are read in one turn of the event loop. */
const YIELD_CHUNKS = 8;

/**
 * Yields the whole lines of a log file from a position to its end, a chunk at a time. A missing file has no lines. A
 * last line without its newline is not yielded. Lines are split only at byte 0x0A. A line longer than `MAX_LINE_BYTES`
 * is cut to its first `MAX_LINE_BYTES + 1` bytes. The caller can then see that the line is too long, and continue with
 * the next line.
 */
export async function* readLines(
  disk: Disk,
  path: string,
  from?: LogPosition,
): AsyncGenerator<readonly RawLine[], void, undefined> {
  const fd = openIfThere(disk, path);
  if (fd === undefined) return;
  try {
    yield* linesOf({ disk, fd, file: path.slice(path.lastIndexOf("/") + 1) }, from);
  } finally {
    disk.close(fd);
  }
}

export interface OpenLog {
  readonly disk: Disk;
  readonly fd: number;
  readonly file: string;
  /** The seq of the first line, if the caller knows it. */
  readonly first?: number | undefined;
}

/** Like `readLines`, for an open file, which stays open. */
export async function* linesOf(log: OpenLog, from?: LogPosition): AsyncGenerator<readonly RawLine[], void, undefined> {
  const splitter = new LineSplitter(log, from);
  for (let count = 1; ; count += 1) {
    const lines = splitter.next();
    if (lines === undefined) return;
    if (lines.length > 0) yield lines;
    if (count % YIELD_CHUNKS === 0) await yieldToEventLoop();
  }
}

export function openIfThere(disk: Disk, path: string): number | undefined {
  try {
    return disk.open(path, "read");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

class LineSplitter {
  readonly #disk: Disk;
  readonly #fd: number;
  readonly #file: string;
  #buffer = Buffer.allocUnsafe(FIRST_CHUNK_BYTES);
  /** The file offset of the buffer's first byte, at which a line begins. */
  #base: number;
  #filled = 0;
  /** The number of bytes at the start of the buffer that are known to hold no newline. */
  #searched = 0;
  /** The number of bytes at the start of the buffer that have been yielded. */
  #used = 0;
  #lineNumber: number;
  #hasRead = false;

  constructor({ disk, fd, file, first: known }: OpenLog, from: LogPosition | undefined) {
    this.#disk = disk;
    this.#fd = fd;
    this.#file = file;
    this.#base = from?.offset ?? 0;
    const first = from === undefined || from.offset === 0 ? undefined : (known ?? firstSeq(disk, fd) ?? 1);
    this.#lineNumber = first === undefined || from === undefined ? 1 : from.seq - first + 1;
  }

  /**
   * Reads a chunk. Returns the lines that the chunk completes, which may be none. Returns `undefined` after the last
   * whole line.
   */
  next(): RawLine[] | undefined {
    this.#makeRoom();
    const room = this.#buffer.subarray(this.#filled);
    const count = this.#disk.read(this.#fd, room, this.#base + this.#filled);
    if (count === 0) return undefined;
    this.#hasRead = true;
    this.#filled += count;
    const lines = this.#split();
    return lines.length === 0 && this.#filled > MAX_LINE_BYTES ? this.#cutGiant() : lines;
  }

  #makeRoom(): void {
    this.#buffer.copyWithin(0, this.#used, this.#filled);
    this.#base += this.#used;
    this.#filled -= this.#used;
    this.#searched = this.#filled;
    this.#used = 0;
    const isSmall = this.#hasRead && this.#buffer.length < CHUNK_BYTES;
    if (this.#filled < this.#buffer.length && !isSmall) return;
    const larger = Buffer.allocUnsafe(Math.min(this.#buffer.length * 2, MAX_LINE_BYTES + 1));
    this.#buffer.copy(larger, 0, 0, this.#filled);
    this.#buffer = larger;
  }

  #split(): RawLine[] {
    const lines: RawLine[] = [];
    const bytes = this.#buffer.subarray(0, this.#filled);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE, this.#searched); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      const place = { file: this.#file, offset: this.#base + start, lineNumber: this.#lineNumber };
      lines.push({ ...place, bytes: bytes.subarray(start, end) });
      this.#lineNumber += 1;
      start = end + 1;
    }
    this.#used = start;
    return lines;
  }

  #cutGiant(): RawLine[] | undefined {
    const end = newlineAfter(this.#disk, this.#fd, this.#base + this.#filled);
    if (end < 0) return undefined;
    const bytes = this.#buffer.subarray(0, this.#filled);
    const line = { file: this.#file, offset: this.#base, lineNumber: this.#lineNumber, bytes };
    this.#lineNumber += 1;
    this.#base = end + 1;
    this.#filled = 0;
    this.#buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    return [line];
  }
}
