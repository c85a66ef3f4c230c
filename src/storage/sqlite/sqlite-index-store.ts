import type { ClockJump } from "../../core/values/clock-jumps.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { type Hash, hashFromBytes, hashToBytes, parseHash, sha256 } from "../../core/values/hash.ts";
import { comparePaths, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import type { RemoteWorkRow } from "../../core/records/remote-work.ts";
import type { Disk } from "../../disk/disk.ts";
import {
  checkIndexBatch,
  ENTRY_BATCH,
  type CommitRow,
  type EntryPage,
  type EventRow,
  type StoredTree,
  type IndexBatch,
  type IndexHead,
  type IndexStore,
  type IterationPage,
  type NameMatch,
  type IterationRow,
  type PrivateBound,
  type SeqRange,
  type TickRange,
  type TickRow,
  type TurnName,
  type TreeRow,
} from "../index-store.ts";
import { discardSqliteFiles } from "./discard-sqlite-files.ts";
import { walkEntries } from "./entry-walk.ts";
import { behindSeq, type RowPlace } from "./iteration-table.ts";
import { IndexConnection, indexTrouble, TEMPORARY } from "./index-connection.ts";
import { recreateTables } from "./index-schema.ts";
import { isOfTheDisk } from "./sqlite-error.ts";
import { bytesAt, DamagedCell, numberAt, type Row, textAt } from "./statements.ts";

/**
 * Opens the index in this file. If the file does not exist, creates it (mode 0600) with an empty index. Throws
 * `INTEGRITY_VIOLATION` if the file is not a sound database; `discardSqliteFiles` removes such a file. An index of
 * another format opens empty.
 */
export function openSqliteIndexStore(path: string, disk: Disk, options: SqliteIndexOptions = {}): SqliteIndexStore {
  return new SqliteIndexStore(path, disk, options);
}

export interface SqliteIndexOptions {
  /**
   * Called when the index continues in a temporary database. `why`: the error of the change that could not be written
   * to the file.
   */
  readonly onTemporary?: (why: unknown) => void;
}

/**
 * The index in one SQLite file. If the disk refuses a change of the file (for example because it is full), the index
 * continues in a temporary database until it is closed. The index is derived from the log, so everything can still be
 * read. The file stays unchanged, and catches up with the log after it is opened again.
 */
export class SqliteIndexStore implements IndexStore {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #options: SqliteIndexOptions;
  #on: IndexConnection;
  /**
   * The connection to the file, once the index continues without the file; `undefined` before. The connection stays
   * open, because a walk may still read from it.
   */
  #file: IndexConnection | undefined;
  /** The value of `generation` in the state row (the number of resets) for which this object's caches are valid. */
  #generation = -1;
  /** The seq of the head for which the cached rows are valid. If the head is at another seq, the caches are dropped. */
  #ownSeq = -1;
  /** The cell `damaged_seq` of the state. Only `damagedSeq` needs its value. */
  #damagedSeq: Row = [];
  /** The head in the read transaction that is open until the end of this turn of the event loop. */
  #seen: IndexHead | undefined;
  /** The head that was read last. Most reads find the same row, and need not parse it. */
  #lastHead: { readonly row: Row; readonly head: IndexHead } | undefined;
  /** The generation in which the SQL index by content was last made. A reset drops that index. */
  #contentsSince: number | undefined;
  /** The error with which the last read transaction ended. */
  #trouble: unknown;

  constructor(path: string, disk: Disk, options: SqliteIndexOptions = {}) {
    this.#disk = disk;
    this.#path = path;
    this.#options = options;
    this.#on = new IndexConnection(path, disk);
    try {
      this.#guard(() => this.#readState());
    } catch (error) {
      this.#on.close();
      throw error;
    }
  }

  async head(): Promise<IndexHead> {
    return this.#guard(() => this.#look());
  }

  fresh(): void {
    this.#guard(() => this.#letGo());
  }

  async reset(): Promise<void> {
    try {
      this.#change(() => {
        this.#readState();
        recreateTables(this.#on.db, this.#generation + 1);
        this.#forget();
        this.#mustBeSound();
      });
    } catch (error) {
      if (!(error instanceof ChronicleError) || error.code !== "INTEGRITY_VIOLATION") throw error;
      // Damaged tables cannot be dropped, so the whole database is replaced.
      this.#seen = undefined;
      this.#on.close();
      if (this.#file === undefined) discardSqliteFiles(this.#disk, this.#path);
      this.#on = new IndexConnection(this.#file === undefined ? this.#path : TEMPORARY, this.#disk);
    }
  }

  /**
   * Throws `DamagedCell` if the database has damaged pages. After a reset, such pages can be free, and would be reused.
   * Requires a transaction.
   */
  #mustBeSound(): void {
    const found = this.#on.sql.first("PRAGMA quick_check(1)");
    if (found === undefined || textAt(found, 0) !== "ok") throw new DamagedCell("its free pages are damaged");
  }

  async apply(batch: IndexBatch): Promise<void> {
    this.#change(() => {
      checkIndexBatch(this.#readState(), batch);
      this.#on.events.addAll(batch.events);
      this.#on.iterations.addAll(batch.iterations);
      for (const row of batch.remoteWork ?? []) this.#on.remoteWork.add(row);
      this.#on.ticks.addAll(batch.ticks ?? []);
      for (const { last, first, isRooted } of batch.commits ?? []) {
        this.#on.sql.run("INSERT INTO commits VALUES (?, ?, ?)", last, first, isRooted ? 1 : 0);
      }
      const { seq, hash, offset, frontier } = batch.head;
      const sql = "UPDATE state SET seq = ?, hash = ?, offset = ?, frontier = ?";
      this.#on.sql.run(sql, seq, hash, offset, [...frontier, checkOf(batch.head)].join(" "));
      this.#ownSeq = seq;
      if (batch.tree !== undefined) this.#putTree(seq, batch.tree);
    });
  }

  async locate(seq: number): Promise<EventRow | undefined> {
    return this.#read(() => this.#on.events.at(seq));
  }

  async events(range: SeqRange): Promise<readonly EventRow[]> {
    return this.#read(() => this.#on.events.range(range));
  }

  async record(recordId: string): Promise<EventRow | undefined> {
    return this.#read(() => this.#on.events.last(recordId));
  }

  async records(prefix: string): Promise<readonly EventRow[]> {
    return this.#read(() => this.#on.events.lastWithPrefix(prefix));
  }

  async recordsAcross(prefix: string, seq: number): Promise<readonly EventRow[]> {
    return this.#read(() => this.#on.events.lastAcross(prefix, seq));
  }

  async openRecords(prefix: string): Promise<readonly EventRow[]> {
    return this.#read(() => this.#on.events.openWithPrefix(prefix));
  }

  async clockJumps(): Promise<readonly ClockJump[]> {
    return this.#read(() => this.#on.events.clockJumps());
  }

  async recordHistory(recordId: string): Promise<readonly EventRow[]> {
    return this.#read(() => this.#on.events.history(recordId));
  }

  async iterations(path: WorkspacePath, page?: IterationPage): Promise<readonly IterationRow[]> {
    return this.#read(() => this.#on.iterations.all(path, page));
  }

  async iterationAt(path: WorkspacePath, seq: number): Promise<IterationRow | undefined> {
    return this.#read(() => this.#on.iterations.at(path, seq));
  }

  async iterationsAt(paths: readonly WorkspacePath[], seq: number): Promise<readonly (IterationRow | undefined)[]> {
    return this.#read(() => this.#on.iterations.atEach(paths, seq));
  }

  async childrenAt(folder: WorkspacePath, seq: number): Promise<readonly IterationRow[]> {
    return this.#read(() => this.#on.iterations.children(folder, seq));
  }

  async *entriesAt(
    seq: number,
    beneath?: WorkspacePath,
    page: EntryPage = {},
  ): AsyncGenerator<readonly IterationRow[]> {
    const rows = this.#walk(seq, beneath, page);
    const generation = this.#read(() => this.#generation);
    for (;;) {
      const batch = this.#read(() => {
        if (this.#generation !== generation) throw emptied(this.#path);
        return takeRows(rows, ENTRY_BATCH);
      });
      if (batch.length === 0) return;
      yield batch;
    }
  }

  async touched(after: number, upTo: number): Promise<readonly WorkspacePath[]> {
    return this.#read(() => this.#on.iterations.touched(after, upTo).sort(comparePaths));
  }

  async withContent(hash: Hash, which?: { readonly ordinary?: true }): Promise<IterationRow | undefined> {
    this.#prepareContents();
    return this.#read(() => this.#on.iterations.withContent(hash, which?.ordinary === true));
  }

  async withContents(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>> {
    this.#prepareContents();
    return this.#read(() => new Set(hashes.filter((hash) => this.#on.iterations.hasContent(hash))));
  }

  async pathsNamed(name: string, which?: NameMatch): Promise<readonly WorkspacePath[]> {
    return this.#read(() => this.#on.iterations.named(name, which?.part === true).sort(comparePaths));
  }

  async protectedPaths(): Promise<readonly WorkspacePath[]> {
    return this.#read(() => this.#on.iterations.protected().sort(comparePaths));
  }

  async commitFrom(seq: number): Promise<CommitRow | undefined> {
    return this.#commit("WHERE last >= ? ORDER BY last LIMIT 1", seq);
  }

  async rootedCommit(seq: number): Promise<CommitRow | undefined> {
    return this.#commit("WHERE rooted = 1 AND last <= ? ORDER BY last DESC LIMIT 1", seq);
  }

  #commit(where: string, seq: number): CommitRow | undefined {
    return this.#read(() => {
      const row = this.#on.sql.first(`SELECT first, last, rooted FROM commits ${where}`, seq);
      if (row === undefined) return undefined;
      return { first: numberAt(row, 0), last: numberAt(row, 1), isRooted: numberAt(row, 2) === 1 };
    });
  }

  async remoteWork(which?: { readonly naming: string }): Promise<readonly RemoteWorkRow[]> {
    return this.#read(() =>
      which === undefined ? this.#on.remoteWork.all() : this.#on.remoteWork.naming(Buffer.from(which.naming)),
    );
  }

  async ticks(range: TickRange): Promise<readonly TickRow[]> {
    return this.#read(() => this.#on.ticks.range(range));
  }

  async turnsAfter(seq: number, turns: readonly TurnName[]): Promise<readonly TurnName[]> {
    return this.#read(() => this.#on.ticks.turnsAfter(seq, turns));
  }

  async treeHashAt(folder: WorkspacePath, seq: number): Promise<Hash | undefined> {
    return this.#read(() => {
      const id = this.#on.folders.find(folder);
      const sql = "SELECT hash FROM tree WHERE folder = ? AND seq <= ? ORDER BY seq DESC LIMIT 1";
      const row = id === undefined ? undefined : this.#on.sql.first(sql, id, seq);
      return row === undefined || row[0] === null ? undefined : hashFromBytes(bytesAt(row, 0));
    });
  }

  async damagedSeq(): Promise<number> {
    return this.#read(() => numberAt(this.#damagedSeq, 0));
  }

  async noteDamaged(seq: number): Promise<void> {
    this.#change(() => {
      this.#readState();
      this.#on.sql.run("UPDATE state SET damaged_seq = ?", seq);
    });
  }

  async privateBound(): Promise<PrivateBound | undefined> {
    return this.#read(() => {
      const row = this.#on.sql.first("SELECT seq, bytes FROM private_bound");
      return row === undefined ? undefined : { seq: numberAt(row, 0), bytes: numberAt(row, 1) };
    });
  }

  async notePrivateBound({ seq, bytes }: PrivateBound): Promise<void> {
    this.#change(() => {
      this.#on.sql.run("DELETE FROM private_bound");
      this.#on.sql.run("INSERT INTO private_bound VALUES (?, ?)", seq, bytes);
    });
  }

  async treeSeq(): Promise<number> {
    return this.#read(() => {
      const row = this.#on.sql.first("SELECT tree_seq FROM state");
      return row === undefined ? 0 : numberAt(row, 0);
    });
  }

  async treeRows(): Promise<readonly TreeRow[]> {
    return this.#read(() =>
      this.#on.sql.all("SELECT folder, seq, hash FROM tree").map((row) => ({
        folder: this.#on.folders.pathOf(numberAt(row, 0)),
        seq: numberAt(row, 1),
        hash: row[2] === null ? undefined : hashFromBytes(bytesAt(row, 2)),
      })),
    );
  }

  async *rowsBetween(after: number, upTo: number): AsyncGenerator<readonly IterationRow[]> {
    for (let place: RowPlace | undefined = behindSeq(after); place !== undefined;) {
      const from: RowPlace = place;
      const { rows, end } = this.#read(() => this.#on.iterations.pageBySeq(from, upTo));
      if (rows.length > 0) yield rows;
      place = end;
    }
  }

  async check(): Promise<readonly string[]> {
    return this.#read(() => {
      // Drop the remembered answers, because they would hide rows that were damaged after they were read.
      this.#forgetRows();
      const rows = this.#on.sql.all("PRAGMA integrity_check(20)").map((row) => textAt(row, 0));
      const found = rows.length === 1 && rows[0] === "ok" ? [] : rows;
      return this.#on.folders.hasTop() ? found : [...found, "the row of the top folder is missing or wrong"];
    });
  }

  async putTreeHashes(seq: number, tree: StoredTree): Promise<void> {
    this.#change(() => {
      this.#readState();
      this.#putTree(seq, tree);
    });
  }

  /** Stores folder hashes as of a seq. Requires a transaction. */
  #putTree(seq: number, { hashes, after }: StoredTree): void {
    for (const [folder, hash] of hashes) {
      const cell = hash === undefined ? null : hashToBytes(hash);
      this.#on.sql.run("INSERT OR REPLACE INTO tree VALUES (?, ?, ?)", this.#on.folders.ensure(folder), seq, cell);
    }
    this.#on.sql.run("UPDATE state SET tree_seq = max(tree_seq, ?) WHERE tree_seq >= ?", seq, after);
  }

  async close(): Promise<void> {
    this.#seen = undefined;
    this.#on.close();
    this.#file?.close();
  }

  *#walk(seq: number, folder: WorkspacePath | undefined, page: EntryPage): Generator<IterationRow> {
    const { iterations, folders } = this.#on;
    const beneath = folder ?? ROOT;
    const isBehind = page.after !== undefined && comparePaths(page.after, beneath) >= 0;
    const own = beneath === ROOT || isBehind ? undefined : iterations.at(beneath, seq);
    if (own?.entry !== undefined) yield own;
    const id = folders.find(beneath);
    if (id !== undefined)
      yield* walkEntries(iterations, folders, { path: beneath, id, seq, everyRoot: folder === undefined, ...page });
  }

  /**
   * Makes the SQL index by content unless it exists. The SQL index is made only when it is needed, because it slows
   * down every recording.
   */
  #prepareContents(): void {
    const generation = this.#read(() => this.#generation);
    if (this.#contentsSince === generation) return;
    this.#change(() => this.#on.iterations.indexContents());
    this.#contentsSince = generation;
  }

  /**
   * Returns the head. Drops the caches if a reset or a change by another process has outdated them. Requires a
   * transaction.
   */
  #readState(): IndexHead {
    const row = this.#on.sql.first("SELECT seq, hash, offset, frontier, generation, damaged_seq FROM state");
    if (row === undefined) throw new DamagedCell("the state is missing");
    const generation = numberAt(row, 4);
    if (generation !== this.#generation) this.#forget();
    this.#generation = generation;
    const seq = numberAt(row, 0);
    if (seq !== this.#ownSeq) this.#forgetRows();
    this.#ownSeq = seq;
    this.#damagedSeq = row.slice(5);
    const last = this.#lastHead;
    if (last?.row.every((cell, i) => cell === row[i]) === true) return last.head;
    const head = headOf(row);
    this.#lastHead = { row, head };
    return head;
  }

  #forget(): void {
    this.#on.folders.forget();
    this.#on.ticks.forget();
    this.#forgetRows();
    this.#ownSeq = -1;
  }

  #forgetRows(): void {
    this.#on.iterations.forget();
    this.#on.events.forget();
  }

  /**
   * Returns the head in the read transaction of this turn of the event loop, and begins the transaction if there is
   * none. The reads of a turn share one transaction, because locking takes as long as a query.
   */
  #look(): IndexHead {
    if (this.#seen === undefined) {
      this.#on.sql.run("BEGIN");
      try {
        this.#seen = this.#readState();
      } catch (error) {
        if (this.#on.db.isTransaction) this.#on.sql.run("ROLLBACK");
        throw error;
      }
      setImmediate(() => this.#endOfTurn());
    }
    return this.#seen;
  }

  #letGo(): void {
    if (this.#seen === undefined) return;
    this.#seen = undefined;
    if (this.#on.db.isOpen && this.#on.db.isTransaction) this.#on.sql.run("COMMIT");
  }

  /**
   * Ends the read transaction. Keeps an error for the next read or change to throw, because no caller waits for this
   * method.
   */
  #endOfTurn(): void {
    try {
      this.#letGo();
    } catch (error) {
      this.#trouble = error;
    }
  }

  #read<Result>(work: () => Result): Result {
    return this.#guard(() => {
      this.#look();
      return work();
    });
  }

  /** Runs a change in a transaction. If the disk refuses the change, runs `work` once more in a temporary database. */
  #change(work: () => void): void {
    this.#guard(() => {
      this.#letGo();
      try {
        this.#inTransaction(work);
      } catch (error) {
        if (this.#file !== undefined || !isOfTheDisk(error)) throw error;
        this.#goOnWithoutFile(error);
        this.#inTransaction(work);
      }
    });
  }

  #inTransaction(work: () => void): void {
    this.#on.sql.run("BEGIN IMMEDIATE");
    try {
      work();
      this.#on.sql.run("COMMIT");
    } catch (error) {
      this.#forget();
      if (this.#on.db.isTransaction) this.#on.sql.run("ROLLBACK");
      throw error;
    }
  }

  #goOnWithoutFile(why: unknown): void {
    const copy = IndexConnection.copyOf(this.#path, this.#disk);
    this.#file = this.#on;
    this.#on = copy;
    this.#forget();
    this.#lastHead = undefined;
    this.#contentsSince = undefined;
    this.#options.onTemporary?.(indexTrouble(why, { disk: this.#disk, path: this.#path }));
  }

  #guard<Result>(work: () => Result): Result {
    try {
      const trouble = this.#trouble;
      this.#trouble = undefined;
      if (trouble !== undefined) throw trouble;
      return work();
    } catch (error) {
      throw indexTrouble(error, { disk: this.#disk, path: this.#path });
    }
  }
}

function headOf(row: Row): IndexHead {
  const hash = textAt(row, 1);
  const words = textAt(row, 3).split(" ");
  const [seq, offset, check] = [numberAt(row, 0), numberAt(row, 2), words.pop()];
  const head = { seq, hash: hash === "" ? ("" as const) : parseHash(hash), offset, frontier: words.map(parseHash) };
  const isEmpty = seq === 0 && hash === "" && offset === 0 && check === "";
  if (!isEmpty && check !== checkOf(head)) throw new DamagedCell("the state row does not match its checksum");
  return head;
}

/**
 * Returns the checksum of the state row. The head in this row shows whether the log was replaced. Without the checksum,
 * a flipped bit in the row could look like a replaced log.
 */
function checkOf({ seq, hash, offset, frontier }: IndexHead): string {
  return sha256(`${seq} ${hash} ${offset} ${frontier.join(" ")}`);
}

function takeRows(rows: Iterator<IterationRow>, count: number): IterationRow[] {
  const taken: IterationRow[] = [];
  while (taken.length < count) {
    const step = rows.next();
    if (step.done === true) break;
    taken.push(step.value);
  }
  return taken;
}

function emptied(path: string): ChronicleError {
  return new ChronicleError("IO", `${path} was emptied by another process while it was being read`, {
    hint: "try again: the index is being rebuilt",
  });
}
