import { MAX_LINE_BYTES, readEventFast } from "../../core/log/chain.ts";
import { markOf } from "../../core/log/commit-mark.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { EMPTY_HEAD, type Head } from "../../core/values/event.ts";
import { parseHash } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import { readFully } from "../../disk/write-fully.ts";
import type { LogEnd } from "../event-log.ts";

const NEWLINE = 0x0a;
const WINDOW_BYTES = 64 * 1024;
const FIRST_WINDOW_BYTES = 2 * 1024;

/**
 * Matches the beginning of a canonical line, which has the hash of the event. The end of such a line (`ENDING`) has the
 * event's seq and time. The bytes between beginning and end need not be parsed.
 */
const BEGINNING = /^\{"hash":"([0-9a-f]{64})","op":"/;
const BEGINNING_BYTES = 81;
const ENDING = /,"seq":([1-9]\d{0,15}),"ts":"[^"]{24}"\}$/;
const ENDING_BYTES = 64;
/** Every line that ends a commit contains these bytes. */
const MARK = Buffer.from('"commit":{');

export const EMPTY_END: LogEnd = { ...EMPTY_HEAD, bytes: 0, tornBytes: 0 };

/** Searches a file for newlines, from its end to its beginning. Reads each part of the file once. */
class BackwardScan {
  readonly #disk: Disk;
  readonly #fd: number;
  readonly #window = Buffer.allocUnsafe(WINDOW_BYTES);
  #from = 0;
  #to = 0;

  constructor(disk: Disk, fd: number) {
    this.#disk = disk;
    this.#fd = fd;
  }

  /** Returns the offset of the last newline before `limit`, or -1. */
  newlineBefore(limit: number): number {
    for (let to = limit; to > 0; to = this.#from) {
      if (to <= this.#from || to > this.#to) this.#load(to);
      const at = this.#window.subarray(0, to - this.#from).lastIndexOf(NEWLINE);
      if (at >= 0) return this.#from + at;
    }
    return -1;
  }

  #load(to: number): void {
    this.#from = Math.max(0, to - WINDOW_BYTES);
    this.#to = this.#from + readFully(this.#disk, this.#fd, this.#window.subarray(0, to - this.#from), this.#from);
    // If the file was shortened meanwhile, the missing bytes count as zeros, which are no newlines.
    this.#window.fill(0, this.#to - this.#from);
    this.#to = to;
  }
}

export interface OpenLogFile {
  readonly disk: Disk;
  readonly fd: number;
  readonly size: number;
}

/**
 * Finds the end of the log in an open file. The log ends after the last line that ends a commit. All bytes after that
 * line are torn: lines of an unfinished commit, lines that cannot be events, and a last line without its newline. With
 * `anyLine`, the log ends after the last line that is an event. `anyLine` is for a copy of another store's history,
 * which can end in the middle of a commit. If no line qualifies, the log is empty, and the whole file is torn.
 */
export function findLogEnd(file: OpenLogFile, anyLine = false): LogEnd {
  const { disk, fd, size } = file;
  const scan = new BackwardScan(disk, fd);
  for (let newline = scan.newlineBefore(size); newline >= 0;) {
    const before = scan.newlineBefore(newline);
    const line = { from: before + 1, to: newline };
    const head = headOfLine(disk, fd, line);
    if (head !== undefined && (anyLine || endsCommit(file, line))) {
      return { ...head, bytes: newline + 1, tornBytes: size - newline - 1 };
    }
    newline = before;
  }
  return { ...EMPTY_END, tornBytes: size };
}

function endsCommit({ disk, fd }: OpenLogFile, line: { readonly from: number; readonly to: number }): boolean {
  const length = line.to - line.from;
  if (length > MAX_LINE_BYTES) return false;
  const bytes = Buffer.allocUnsafe(length);
  if (readFully(disk, fd, bytes, line.from) < length || !bytes.includes(MARK)) return false;
  try {
    return markOf(readEventFast(bytes)) !== undefined;
  } catch (error) {
    if (error instanceof ChronicleError) return false;
    throw error;
  }
}

function headOfLine(disk: Disk, fd: number, line: { readonly from: number; readonly to: number }): Head | undefined {
  const length = line.to - line.from;
  if (length < BEGINNING_BYTES) return undefined;
  const beginning = Buffer.alloc(BEGINNING_BYTES);
  const ending = Buffer.alloc(Math.min(ENDING_BYTES, length));
  readFully(disk, fd, beginning, line.from);
  readFully(disk, fd, ending, line.to - ending.length);
  const hash = BEGINNING.exec(beginning.toString("latin1"))?.[1];
  const seq = ENDING.exec(ending.toString("latin1"))?.[1];
  return hash === undefined || seq === undefined ? undefined : { seq: Number(seq), hash: parseHash(hash) };
}

/** Returns the offset of the first newline at or after `from`, or -1. */
export function newlineAfter(disk: Disk, fd: number, from: number): number {
  // The first window is small, because most lines are short.
  let window = Buffer.allocUnsafe(FIRST_WINDOW_BYTES);
  for (let at = from; ;) {
    const count = readFully(disk, fd, window, at);
    const found = window.subarray(0, count).indexOf(NEWLINE);
    if (found >= 0) return at + found;
    if (count < window.length) return -1;
    at += count;
    if (window.length < WINDOW_BYTES) window = Buffer.allocUnsafe(WINDOW_BYTES);
  }
}

/** Returns the seq of the first line; `undefined` if the line is not whole, or is not an event. */
export function firstSeq(disk: Disk, fd: number): number | undefined {
  const newline = newlineAfter(disk, fd, 0);
  return newline < 0 ? undefined : headOfLine(disk, fd, { from: 0, to: newline })?.seq;
}
