import { DatabaseSync } from "node:sqlite";
import { ChronicleError, errnoOf } from "../../core/errors.ts";
import { type Hash, hashFromBytes, hashToBytes, parseHash } from "../../core/hash.ts";
import { comparePaths, ROOT, type WorkspacePath } from "../../core/path.ts";
import type { Disk } from "../../disk/disk.ts";
import { checkIndexBatch, ENTRY_BATCH } from "../check-index-batch.ts";
import type { EventRow, IndexBatch, IndexHead, IndexStore, IterationRow, SeqRange } from "../index-store.ts";
import { walkEntries } from "./entry-walk.ts";
import { EventTable } from "./event-table.ts";
import { FolderTable } from "./folder-table.ts";
import { prepareIndex, recreateTables } from "./index-schema.ts";
import { IterationTable } from "./iteration-table.ts";
import { fromSqlite } from "./sqlite-error.ts";
import { bytesAt, DamagedCell, numberAt, type Row, Statements, textAt } from "./statements.ts";

/** How long another process's write is waited for, in milliseconds. Writers hold the workspace's lock, so hardly ever. */
const BUSY_MS = 5_000;

/**
 * Opens the index in this file, or makes an empty one (0600). Throws `INTEGRITY_VIOLATION` when the file is not a sound
 * database: `discardSqliteFiles` removes it. An index of another format comes up empty.
 */
export function openSqliteIndexStore(path: string, disk: Disk): SqliteIndexStore {
  if (disk.lstat(path) === undefined) create(disk, path);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { timeout: BUSY_MS });
    prepareIndex(db);
    const store = new SqliteIndexStore(db, path);
    store.checkHead();
    return store;
  } catch (error) {
    db?.close();
    throw trouble(error, path);
  }
}

function create(disk: Disk, path: string): void {
  try {
    disk.close(disk.open(path, "create", 0o600));
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}

function trouble(error: unknown, path: string): unknown {
  const outOfRange = error instanceof RangeError && "code" in error && error.code === "ERR_OUT_OF_RANGE";
  if (!outOfRange && !(error instanceof DamagedCell)) return fromSqlite(error, path);
  return new ChronicleError("INTEGRITY_VIOLATION", `${path}: ${error.message}`, { cause: error, data: { path } });
}

/** The index in one SQLite file. Made by `openSqliteIndexStore`. */
export class SqliteIndexStore implements IndexStore {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #sql: Statements;
  readonly #folders: FolderTable;
  readonly #iterations: IterationTable;
  readonly #events: EventTable;
  /** The number of resets that this object's caches know of. */
  #generation = -1;

  constructor(db: DatabaseSync, path: string) {
    this.#db = db;
    this.#path = path;
    this.#sql = new Statements(db);
    this.#folders = new FolderTable(this.#sql);
    this.#iterations = new IterationTable(this.#sql, this.#folders);
    this.#events = new EventTable(this.#sql);
  }

  /** Throws when the state cannot be read. */
  checkHead(): void {
    this.#readState();
  }

  async head(): Promise<IndexHead> {
    return this.#guard(() => this.#readState());
  }

  async reset(): Promise<void> {
    this.#change(() => {
      this.#readState();
      recreateTables(this.#db, this.#generation + 1);
      this.#folders.forget();
    });
  }

  async apply(batch: IndexBatch): Promise<void> {
    this.#change(() => {
      checkIndexBatch(this.#readState(), batch);
      for (const event of batch.events) this.#events.add(event);
      for (const row of batch.iterations) this.#iterations.add(row);
      const { seq, hash, offset, frontier } = batch.head;
      const sql = "UPDATE state SET seq = ?, hash = ?, offset = ?, frontier = ?";
      this.#sql.run(sql, seq, hash, offset, frontier.join(" "));
    });
  }

  async locate(seq: number): Promise<EventRow | undefined> {
    return this.#guard(() => this.#events.at(seq));
  }

  async events(range: SeqRange): Promise<readonly EventRow[]> {
    return this.#guard(() => this.#events.range(range));
  }

  async record(recordId: string): Promise<EventRow | undefined> {
    return this.#guard(() => this.#events.last(recordId));
  }

  async records(prefix: string): Promise<readonly EventRow[]> {
    return this.#guard(() => this.#events.lastWithPrefix(prefix));
  }

  async recordHistory(recordId: string): Promise<readonly EventRow[]> {
    return this.#guard(() => this.#events.history(recordId));
  }

  async iterations(path: WorkspacePath): Promise<readonly IterationRow[]> {
    return this.#read(() => this.#iterations.all(path));
  }

  async iterationAt(path: WorkspacePath, seq: number): Promise<IterationRow | undefined> {
    return this.#read(() => this.#iterations.at(path, seq));
  }

  async iterationsAt(paths: readonly WorkspacePath[], seq: number): Promise<readonly (IterationRow | undefined)[]> {
    return this.#read(() => paths.map((path) => this.#iterations.at(path, seq)));
  }

  async childrenAt(folder: WorkspacePath, seq: number): Promise<readonly IterationRow[]> {
    return this.#read(() => this.#iterations.children(folder, seq));
  }

  async *entriesAt(seq: number, beneath: WorkspacePath = ROOT): AsyncGenerator<readonly IterationRow[]> {
    const rows = this.#walk(seq, beneath);
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
    return this.#read(() => this.#iterations.touched(after, upTo).sort(comparePaths));
  }

  async pathsNamed(name: string): Promise<readonly WorkspacePath[]> {
    return this.#read(() => this.#iterations.named(name).sort(comparePaths));
  }

  async treeHashAt(folder: WorkspacePath, seq: number): Promise<Hash | undefined> {
    return this.#read(() => {
      const id = this.#folders.find(folder);
      const sql = "SELECT hash FROM tree WHERE folder = ? AND seq <= ? ORDER BY seq DESC LIMIT 1";
      const row = id === undefined ? undefined : this.#sql.first(sql, id, seq);
      return row === undefined || row[0] === null ? undefined : hashFromBytes(bytesAt(row, 0));
    });
  }

  async treeSeq(): Promise<number> {
    return this.#guard(() => {
      const row = this.#sql.first("SELECT tree_seq FROM state");
      return row === undefined ? 0 : numberAt(row, 0);
    });
  }

  async putTreeHashes(seq: number, hashes: readonly (readonly [WorkspacePath, Hash | undefined])[]): Promise<void> {
    this.#change(() => {
      this.#readState();
      for (const [folder, hash] of hashes) {
        const cell = hash === undefined ? null : hashToBytes(hash);
        this.#sql.run("INSERT OR REPLACE INTO tree VALUES (?, ?, ?)", this.#folders.ensure(folder), seq, cell);
      }
      this.#sql.run("UPDATE state SET tree_seq = max(tree_seq, ?)", seq);
    });
  }

  async close(): Promise<void> {
    if (this.#db.isOpen) this.#db.close();
  }

  *#walk(seq: number, beneath: WorkspacePath): Generator<IterationRow> {
    const own = beneath === ROOT ? undefined : this.#iterations.at(beneath, seq);
    if (own?.entry !== undefined) yield own;
    const id = this.#folders.find(beneath);
    if (id !== undefined) yield* walkEntries(this.#iterations, { path: beneath, id }, seq);
  }

  /** The head; and caches are dropped if another process has emptied the index. Within a transaction. */
  #readState(): IndexHead {
    const row = this.#sql.first("SELECT seq, hash, offset, frontier, generation FROM state");
    if (row === undefined) throw new DamagedCell("the state is missing");
    const generation = numberAt(row, 4);
    if (generation !== this.#generation) this.#folders.forget();
    this.#generation = generation;
    return headOf(row);
  }

  /** One consistent state for several queries. */
  #read<Result>(work: () => Result): Result {
    return this.#guard(() => {
      this.#sql.run("BEGIN");
      try {
        this.#readState();
        return work();
      } finally {
        if (this.#db.isTransaction) this.#sql.run("COMMIT");
      }
    });
  }

  #change(work: () => void): void {
    this.#guard(() => {
      this.#sql.run("BEGIN IMMEDIATE");
      try {
        work();
        this.#sql.run("COMMIT");
      } catch (error) {
        this.#folders.forget();
        if (this.#db.isTransaction) this.#sql.run("ROLLBACK");
        throw error;
      }
    });
  }

  #guard<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      throw trouble(error, this.#path);
    }
  }
}

function headOf(row: Row): IndexHead {
  const hash = textAt(row, 1);
  const frontier = textAt(row, 3);
  return {
    seq: numberAt(row, 0),
    hash: hash === "" ? "" : parseHash(hash),
    offset: numberAt(row, 2),
    frontier: frontier === "" ? [] : frontier.split(" ").map(parseHash),
  };
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
