import { type SealedEvent, EMPTY_HEAD, type Head } from "../../core/values/event.ts";
import { isDiskFailure } from "../../core/values/errno.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import type { Disk, FileStat } from "../../disk/disk.ts";
import { whyNotWritable } from "../../disk/probe-writes.ts";
import { folderOf, writeFully } from "../../disk/write-fully.ts";
import {
  checkAppend,
  tornTail,
  type ArchivedLog,
  type EventLog,
  type LogEnd,
  type LogPosition,
  type QuarantinedPart,
  type RawLine,
} from "../event-log.ts";
import { ioTrouble, withTrouble } from "../io-trouble.ts";
import { poisoned, type StillPoisoned, stillSays } from "./blob-trouble.ts";
import type { LogPaths } from "../layout.ts";
import { archiveName, linkIntoArchive, listArchive, prepareLog, removeArchive, readHistory } from "./log-archive.ts";
import { checkCut, keepTail, makeFolderDurably, readPart } from "./log-quarantine.ts";
import { openIfThere, readLines } from "./log-reader.ts";
import { FsyncScheduler } from "./fsync-scheduler.ts";
import { EMPTY_END, findLogEnd, firstSeq } from "./log-tail.ts";

interface Waiting {
  readonly events: readonly SealedEvent[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface Poison {
  readonly cause: unknown;
  /**
   * True if the failure concerned only appended lines, and these lines were cut off. The file then has only bytes that
   * were already durable before the failure.
   */
  readonly isCutOff: boolean;
}

/**
 * The log as one NDJSON file (`docs/format.md`).
 *
 * Crashes:
 * - A crash during `append` leaves the file at any length between the old length and the new length. Whole lines of an
 *   unacknowledged call can remain, followed by a partial line.
 * - A crash during `quarantine` leaves the log either unchanged, or without its tail, which is then in quarantine.
 * - A crash during `rotate` leaves either the old log in place, or the new log in place and the old log in the archive.
 *   The log's name always points to a file, because the old file is linked into the archive before the new file is
 *   renamed over it. Therefore, the file system must support hard links.
 *
 * Failures: The lines of a failed write or sync are cut off, because nobody may read lines that are not durable. A
 * failed sync also poisons the log: the log takes no writes until the disk takes a write and a sync of another file.
 * The log stays poisoned if the lines could not be cut off. It also stays poisoned if the failure concerned anything
 * else, such as lines of another process, a file name, or a sealing.
 */
export class FileEventLog implements EventLog {
  readonly #disk: Disk;
  readonly #paths: LogPaths;
  readonly #scheduler: FsyncScheduler;
  readonly #start: LogEnd;
  #end: LogEnd;
  /** The seq of the first line; `undefined` if there is no line yet, or if the first line is not an event. */
  #first: number | undefined;
  /** The file's stat when `#end` was found; `undefined` if `#end` must be found again. */
  #seen: FileStat | "missing" | undefined;
  /** The descriptor for changes. It is open from the first append, cut or sealing until the file is replaced. */
  #fd: number | undefined;
  #waiting: Waiting[] = [];
  /** Set while lines are being written and synced. Reads wait until this promise resolves. */
  #flushing: Promise<void> | undefined;
  /** The last event that waits to be written, or the head of the log if no event waits. */
  #tail: Head;
  /** The offset up to which the file is known to be durable. */
  #durableBytes = 0;
  #nameIsDurable = false;
  #poison: Poison | undefined;
  #closed = false;

  /**
   * Finds the end of the log; a missing file is an empty log. Writes nothing. Throws `IO` if the file cannot be read.
   * `start`: for a log that does not begin at event 1, the event right before its first line.
   */
  constructor(disk: Disk, paths: LogPaths, start: Head = EMPTY_HEAD, scheduler = new FsyncScheduler(disk)) {
    this.#disk = disk;
    this.#paths = paths;
    this.#scheduler = scheduler;
    this.#start = { ...EMPTY_END, ...start };
    this.#end = this.#start;
    this.#tail = this.#start;
    this.#guard("open", () => this.#look());
  }

  get head(): LogEnd {
    return this.#end;
  }

  get firstSeq(): number {
    return this.#first ?? this.#start.seq + 1;
  }

  async refresh(): Promise<LogEnd> {
    this.#mustBeOpen();
    if (this.#isBusy) await this.#settled();
    return this.#guard("look at", () => this.#look());
  }

  append(events: readonly SealedEvent[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#mustBeSound();
      if (this.#end.tornBytes > 0) throw tornTail(this.#paths.log, this.#end.tornBytes);
      checkAppend(this.#tail, events, this.#paths.isCopy);
      this.#tail = events.at(-1) ?? this.#tail;
      if (this.#waiting.length === 0) queueMicrotask(() => void this.#flush());
      this.#waiting.push({ events, resolve, reject });
    });
  }

  async sync(): Promise<void> {
    await this.#ready();
    if (this.#durableBytes >= this.#end.bytes) return;
    this.#guard("sync", () => {
      const fd = openIfThere(this.#disk, this.#paths.log);
      if (fd === undefined) return;
      try {
        this.#makeDurable(fd);
      } finally {
        this.#disk.close(fd);
      }
      this.#durableBytes = this.#end.bytes;
    });
  }

  read(from?: LogPosition): AsyncIterable<readonly RawLine[]> {
    this.#mustBeOpen();
    return this.#readSettled(from);
  }

  async *#readSettled(from: LogPosition | undefined): AsyncGenerator<readonly RawLine[]> {
    await this.#settled();
    yield* from === undefined ? readLines(this.#disk, this.#paths.log) : readHistory(this.#disk, this.#paths, from);
  }

  async quarantined(name: string): Promise<QuarantinedPart | undefined> {
    const path = `${this.#paths.quarantine}/${name}`;
    return withTrouble(`reading ${path}`, () => readPart(this.#disk, path));
  }

  async quarantine(from: LogPosition): Promise<string> {
    await this.#ready();
    return this.#change("quarantine the tail of", () => {
      const name = this.#keep(from);
      const fd = this.#openToAppend();
      this.#orPoison(() => this.#disk.truncate(fd, from.offset));
      this.#seen = undefined;
      this.#makeDurable(fd);
      this.#look();
      this.#durableBytes = this.#end.bytes;
      return name;
    });
  }

  async rotate(first: SealedEvent): Promise<void> {
    await this.#ready();
    if (this.#end.tornBytes > 0) throw tornTail(this.#paths.log, this.#end.tornBytes);
    if (this.#end.bytes === 0) throw new ChronicleError("USAGE", "an empty log cannot be sealed");
    checkAppend(this.#end, [first], this.#paths.isCopy);
    this.#change("seal", () => this.#swap(first));
  }

  async archived(): Promise<readonly ArchivedLog[]> {
    this.#mustBeOpen();
    return this.#guard("list the archive of", () => listArchive(this.#disk, this.#paths.archive, this.#inode()));
  }

  async dropArchive(): Promise<void> {
    await this.#ready();
    this.#change("drop the archive of", () => removeArchive(this.#disk, this.#paths.archive, this.#inode()));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    await this.#settled();
    this.#closed = true;
    this.#closeFile();
  }

  get #isBusy(): boolean {
    return this.#waiting.length > 0 || this.#flushing !== undefined;
  }

  async #settled(): Promise<void> {
    while (this.#isBusy) await this.#flush();
  }

  async #ready(): Promise<void> {
    this.#mustBeSound();
    await this.#settled();
    this.#mustBeSound();
  }

  /**
   * Writes the waiting events. Events that are appended during a flush are written by the next flush. Never rejects.
   */
  #flush(): Promise<void> {
    this.#flushing ??= this.#flushGroup().finally(() => {
      this.#flushing = undefined;
      if (this.#waiting.length > 0) void this.#flush();
    });
    return this.#flushing;
  }

  async #flushGroup(): Promise<void> {
    const group = this.#waiting;
    this.#waiting = [];
    try {
      if (this.#poison !== undefined) throw this.#poisoned(STAYS);
      await this.#write(group.flatMap((waiting) => waiting.events));
      for (const waiting of group) waiting.resolve();
    } catch (error) {
      // The events of calls made meanwhile follow lines that are now cut off, so these calls fail, too.
      const all = [...group, ...this.#waiting.splice(0)];
      for (const waiting of all)
        waiting.reject(ioTrouble(error, `cannot append to ${this.#paths.log}`, this.#paths.log));
    }
    this.#tail = this.#waiting.at(-1)?.events.at(-1) ?? this.#end;
  }

  async #write(events: readonly SealedEvent[]): Promise<void> {
    const last = events.at(-1);
    if (last === undefined) return;
    const fd = this.#openToAppend();
    const start = this.#end.bytes;
    this.#mustBeAsSeen(fd, start);
    let bytes = start;
    try {
      for (const piece of linesToWrite(events)) {
        writeFully(this.#disk, fd, piece, null);
        bytes += piece.length;
      }
      await this.#makeDurableBeside(fd);
    } catch (error) {
      this.#cutBack(fd, start);
      throw error;
    }
    this.#seen = this.#disk.fstat(fd);
    this.#end = { seq: last.seq, hash: last.hash, bytes, tornBytes: 0 };
    if (start === 0) this.#first = events[0]?.seq;
    this.#durableBytes = bytes;
  }

  #mustBeAsSeen(fd: number, bytes: number): void {
    if (this.#disk.fstat(fd).size === bytes) return;
    this.#seen = undefined;
    throw new ChronicleError(
      "INTEGRITY_VIOLATION",
      `${this.#paths.log} has changed its length since it was last read`,
      {
        hint: "hold the workspace's lock, refresh the log and try again",
      },
    );
  }

  #cutBack(fd: number, length: number): void {
    this.#seen = undefined;
    try {
      this.#disk.truncate(fd, length);
    } catch (error) {
      this.#poison = { cause: this.#poison?.cause ?? error, isCutOff: false };
    }
  }

  /**
   * Syncs the file. The first time, also syncs its folder, because the process that made the file may have ended before
   * it synced the folder.
   */
  #makeDurable(fd: number): void {
    this.#orPoison(() => {
      this.#disk.sync(fd);
      this.#makeNameDurable();
    });
  }

  /** Like `#makeDurable`, but uses the scheduler, which can sync several logs at once in the background. */
  async #makeDurableBeside(fd: number): Promise<void> {
    try {
      await this.#scheduler.sync(fd);
    } catch (error) {
      this.#poison = { cause: error, isCutOff: true };
      throw error;
    }
    this.#orPoison(() => this.#makeNameDurable());
  }

  #makeNameDurable(): void {
    if (!this.#nameIsDurable) this.#disk.syncFolder(folderOf(this.#paths.log));
    this.#nameIsDurable = true;
  }

  #orPoison(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#poison = { cause: error, isCutOff: false };
      throw error;
    }
  }

  #keep(from: LogPosition): string {
    const fd = this.#disk.open(this.#paths.log, "read");
    try {
      const tail = { fd, from, size: this.#disk.fstat(fd).size };
      checkCut(this.#disk, tail);
      return keepTail(this.#disk, this.#paths.quarantine, tail);
    } finally {
      this.#disk.close(fd);
    }
  }

  #swap(first: SealedEvent): void {
    const { log, archive } = this.#paths;
    // Sync the file first. Otherwise, a crash could bring back bytes that were cut off, and a sealed log must have no
    // torn tail.
    const fd = this.#openToAppend();
    this.#orPoison(() => this.#disk.sync(fd));
    const fresh = prepareLog(this.#disk, log, first);
    makeFolderDurably(this.#disk, archive);
    const target = `${archive}/${archiveName({ first: this.#mustHaveFirst(), last: this.#end.seq })}`;
    linkIntoArchive(this.#disk, log, target);
    this.#orPoison(() => this.#disk.syncFolder(archive));
    this.#disk.rename(fresh, log);
    this.#seen = undefined;
    this.#orPoison(() => this.#disk.syncFolder(folderOf(log)));
    this.#look();
    this.#durableBytes = this.#end.bytes;
  }

  #mustHaveFirst(): number {
    if (this.#first !== undefined) return this.#first;
    throw new ChronicleError("LOG_DAMAGED", `the first line of ${this.#paths.log} is not an event`);
  }

  #inode(): bigint | undefined {
    return this.#disk.lstat(this.#paths.log)?.ino;
  }

  #openToAppend(): number {
    this.#fd ??= this.#disk.open(this.#paths.log, "append", 0o600);
    return this.#fd;
  }

  /**
   * Closes the descriptor, and forgets what is known of the file. This is necessary if the log's name may now lead to
   * another file, or if the descriptor must not be synced again.
   */
  #forgetFile(): void {
    this.#closeFile();
    this.#first = undefined;
    this.#nameIsDurable = false;
  }

  #closeFile(): void {
    if (this.#fd !== undefined) this.#disk.close(this.#fd);
    this.#fd = undefined;
  }

  /** Finds the present end of the file. Cheap if the file is unchanged. */
  #look(): LogEnd {
    const stat = this.#disk.lstat(this.#paths.log);
    if (stat === undefined ? this.#seen === "missing" : isSame(this.#seen, stat)) return this.#end;
    if (stat === undefined || typeof this.#seen !== "object" || this.#seen.ino !== stat.ino) this.#forgetFile();
    const fd = stat === undefined ? undefined : openIfThere(this.#disk, this.#paths.log);
    const before = this.#end;
    if (fd === undefined) {
      this.#end = this.#start;
      this.#seen = "missing";
    } else {
      try {
        const seen = this.#disk.fstat(fd);
        const end = findLogEnd({ disk: this.#disk, fd, size: seen.size }, this.#paths.isCopy);
        this.#end = end.seq === 0 ? { ...this.#start, tornBytes: end.tornBytes } : end;
        this.#first ??= firstSeq(this.#disk, fd);
        this.#seen = seen;
      } finally {
        this.#disk.close(fd);
      }
    }
    if (this.#end.hash !== before.hash || this.#end.bytes !== before.bytes) this.#durableBytes = 0;
    this.#tail = this.#end;
    return this.#end;
  }

  #guard<Result>(doing: string, work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      throw ioTrouble(error, `cannot ${doing} ${this.#paths.log}`, this.#paths.log);
    }
  }

  /** Runs a change of the file. A disk failure also poisons the log, because the change may be half done. */
  #change<Result>(doing: string, work: () => Result): Result {
    return this.#guard(doing, () => {
      try {
        return work();
      } catch (error) {
        if (isDiskFailure(errnoOf(error))) this.#poison = { cause: error, isCutOff: false };
        throw error;
      }
    });
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new ChronicleError("IO", `the log ${this.#paths.log} has been closed`);
  }

  #mustBeSound(): void {
    this.#mustBeOpen();
    if (this.#poison === undefined) return;
    const still = this.#recover();
    if (still !== undefined) throw this.#poisoned(still);
  }

  #poisoned(still: StillPoisoned): ChronicleError {
    const cause = this.#poison?.cause;
    const errno = still.errno ?? errnoOf(cause);
    return poisoned(this.#paths.log, { ...still, errno, cause, path: this.#paths.log });
  }

  /**
   * Makes a poisoned log usable again, as if reopened, if the disk takes a write and a sync of another file. The bytes
   * of the failed sync were cut off, and their descriptor is not synced again. Returns the reason if the log cannot be
   * used yet.
   */
  #recover(): StillPoisoned | undefined {
    // The calls whose sync has failed must have been rejected before the descriptor is closed.
    if (this.#isBusy) return { why: "the appends that failed with that sync have not ended yet" };
    if (this.#poison?.isCutOff !== true) return STAYS;
    const errno = whyNotWritable(this.#disk, String(folderOf(this.#paths.log)));
    if (errno !== undefined) return stillSays(errno);
    this.#forgetFile();
    this.#seen = undefined;
    this.#durableBytes = 0;
    this.#guard("look at", () => this.#look());
    this.#poison = undefined;
    return undefined;
  }
}

/** The reason why a log stays poisoned: it is not known which bytes of the log are durable. */
const STAYS: StillPoisoned = { why: "bytes that can be read from the log may not have reached the disk", stays: true };

function isSame(seen: FileStat | "missing" | undefined, now: FileStat): boolean {
  return (
    typeof seen === "object" &&
    seen.size === now.size &&
    seen.ino === now.ino &&
    seen.ctimeNs === now.ctimeNs &&
    seen.mtimeNs === now.mtimeNs
  );
}

/** The maximum number of bytes in one write, unless a single line is longer. */
const WRITE_BYTES = 64 * 1024 * 1024;

function* linesToWrite(events: readonly SealedEvent[]): Generator<Buffer> {
  let first = 0;
  let bytes = 0;
  for (let at = 0; at < events.length; at += 1) {
    const more = Buffer.byteLength((events[at] as SealedEvent).line) + 1;
    if (bytes > 0 && bytes + more > WRITE_BYTES) {
      yield joined(events.slice(first, at), bytes);
      first = at;
      bytes = 0;
    }
    bytes += more;
  }
  yield joined(events.slice(first), bytes);
}

/**
 * Returns the lines as one buffer. Encodes each line directly into the buffer, because joining the lines as text would
 * copy them twice.
 */
function joined(events: readonly SealedEvent[], length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  for (const { line } of events) {
    at += bytes.write(line, at);
    bytes[at] = 0x0a;
    at += 1;
  }
  return bytes;
}
