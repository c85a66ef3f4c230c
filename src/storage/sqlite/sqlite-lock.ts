import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Disk } from "../../disk/disk.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { TurnQueue } from "../../util/turn-queue.ts";
import type { HeldLock, Lock } from "../lock.ts";
import { fromSqlite, isBusy } from "./sqlite-error.ts";

const FIRST_SLEEP_MS = 1;
const LONGEST_SLEEP_MS = 50;

/**
 * A lock between processes: a transaction on an empty SQLite file. An exclusive lock is `BEGIN EXCLUSIVE`, and a shared
 * lock is a read transaction. The kernel drops the byte-range locks on the file when the process ends, however it ends.
 * The file is never deleted, and cannot be damaged, because it is never written to. No other code in this process may
 * open the file, because closing the file would drop the lock.
 *
 * Requests to one object are served in order. Requests of several processes can be served in another order: a waiter
 * for an exclusive lock can be overtaken by shared holders that follow one another without a gap.
 */
export class SqliteLock implements Lock {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #queue = new TurnQueue();
  readonly #held = new Set<HeldLock>();
  readonly #statements = new Map<string, StatementSync>();
  #db: DatabaseSync | undefined;
  #closed = false;
  #isWithoutJournal = false;

  /** The first request opens the file, or creates it with mode 0600. The folder of the file must exist. */
  constructor(disk: Disk, path: string) {
    this.#disk = disk;
    this.#path = path;
  }

  exclusive(waitMs: number): Promise<HeldLock> {
    return this.#hold(true, waitMs);
  }

  shared(waitMs: number): Promise<HeldLock> {
    return this.#hold(false, waitMs);
  }

  close(): void {
    this.#closed = true;
    for (const held of this.#held) held.release();
    this.#statements.clear();
    this.#db?.close();
    this.#db = undefined;
  }

  async #hold(exclusive: boolean, waitMs: number): Promise<HeldLock> {
    this.#mustBeOpen();
    const deadline = performance.now() + waitMs;
    const leave = await this.#queue.enter(exclusive, waitMs);
    if (leave === undefined) throw this.#locked(waitMs);
    try {
      await this.#acquire(exclusive, deadline, waitMs);
    } catch (error) {
      leave();
      throw fromSqlite(error, { disk: this.#disk, path: this.#path });
    }
    const release = (): void => {
      if (!this.#held.delete(held)) return;
      try {
        if (this.#held.size === 0) this.#run("ROLLBACK");
      } finally {
        leave();
      }
    };
    const held: HeldLock = { release, [Symbol.dispose]: release };
    this.#held.add(held);
    return held;
  }

  async #acquire(exclusive: boolean, deadline: number, waitMs: number): Promise<void> {
    for (let sleep = FIRST_SLEEP_MS; ; sleep = Math.min(sleep * 2, LONGEST_SLEEP_MS)) {
      this.#mustBeOpen();
      if (exclusive ? this.#tryExclusive() : this.#tryShared()) return;
      const left = deadline - performance.now();
      if (left <= 0) throw this.#locked(waitMs);
      // The pause varies at random, so that waiting processes do not wake together.
      const pause = Math.min(left, sleep * (0.5 + Math.random()));
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  #tryExclusive(): boolean {
    try {
      this.#keepNoJournal();
      this.#run("BEGIN EXCLUSIVE");
      return true;
    } catch (error) {
      if (isBusy(error)) return false;
      throw error;
    }
  }

  /**
   * Keeps SQLite's journal in memory. Otherwise, each transaction would create and remove a journal file, although
   * nothing is ever written.
   */
  #keepNoJournal(): void {
    if (this.#isWithoutJournal) return;
    this.#run("PRAGMA journal_mode = MEMORY");
    this.#isWithoutJournal = true;
  }

  #tryShared(): boolean {
    if (this.#held.size > 0) return true;
    this.#run("BEGIN");
    try {
      this.#run("SELECT 1 FROM sqlite_schema");
      return true;
    } catch (error) {
      this.#run("ROLLBACK");
      if (isBusy(error)) return false;
      throw error;
    }
  }

  #run(sql: string): void {
    const db = (this.#db ??= this.#open());
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    statement.get();
  }

  #open(): DatabaseSync {
    if (this.#disk.lstat(this.#path) === undefined) this.#create();
    return new DatabaseSync(this.#path, { timeout: 0 });
  }

  #create(): void {
    try {
      // `create` fails for an existing file. Closing that file could drop a lock that this process holds.
      this.#disk.close(this.#disk.open(this.#path, "create", 0o600));
    } catch (error) {
      if (errnoOf(error) !== "EEXIST") throw error;
    }
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new ChronicleError("IO", `lock ${this.#path} has been closed`);
  }

  #locked(waitMs: number): ChronicleError {
    const holder = findLockHolder(this.#disk, this.#path);
    const who = holderName(holder);
    const stopped = holder?.stopped === true;
    const hint = stopped
      ? `continue ${who} (kill -CONT ${holder.pid}) or end it: the lock ends with the process`
      : `wait for ${who} to finish, or end it: the lock ends with the process`;
    const state = stopped ? `${who}, which is stopped` : who;
    return new ChronicleError("LOCKED", `${this.#path} is held by ${state}; gave up after ${waitMs} ms`, {
      hint,
      data: { path: this.#path, ...(holder === undefined ? {} : { pid: holder.pid }) },
    });
  }
}

function holderName(holder: LockHolder | undefined): string {
  if (holder === undefined) return "another process";
  return holder.pid === process.pid ? `this process (${holder.pid})` : `process ${holder.pid}`;
}

interface LockHolder {
  readonly pid: number;
  /**
   * True if a signal has stopped the process. A stopped process cannot release the lock until it is continued or ended.
   */
  readonly stopped: boolean;
}

/** The offset of the first byte that SQLite locks (its `PENDING_BYTE`), whatever the file's length. */
const FIRST_LOCK_BYTE = 0x40000000;
const LINE = /^\d+: POSIX +\S+ +(?:READ|WRITE) +(\d+) +[0-9a-f]+:[0-9a-f]+:(\d+) (\d+) /;

function readText(disk: Disk, path: string): string {
  const fd = disk.open(path, "read");
  try {
    const pieces: Buffer[] = [];
    for (;;) {
      const piece = Buffer.allocUnsafe(65_536);
      const count = disk.read(fd, piece, null);
      if (count === 0) return Buffer.concat(pieces).toString("latin1");
      pieces.push(piece.subarray(0, count));
    }
  } finally {
    disk.close(fd);
  }
}

function isStopped(disk: Disk, pid: number): boolean {
  try {
    return /\) [Tt] /.test(readText(disk, `/proc/${pid}/stat`));
  } catch {
    return false;
  }
}

/**
 * Returns the holder of the lock according to `/proc/locks`; `undefined` without `/proc`, or if the holder is in
 * another container.
 */
function findLockHolder(disk: Disk, path: string): LockHolder | undefined {
  try {
    const ino = disk.lstat(path)?.ino.toString();
    for (const line of readText(disk, "/proc/locks").split("\n")) {
      const [, pid, inode, start] = LINE.exec(line) ?? [];
      if (inode !== ino || Number(start) < FIRST_LOCK_BYTE || Number(pid) <= 0) continue;
      return { pid: Number(pid), stopped: isStopped(disk, Number(pid)) };
    }
  } catch {
    // An unknown holder only makes the error message less specific.
  }
  return undefined;
}
