import { DatabaseSync, type StatementSync } from "node:sqlite";
import { type Hash, hashFromBytes, hashToBytes } from "../../core/values/hash.ts";
import { RecentMap } from "../../util/recent-map.ts";
import type {
  BlobPlace,
  BlobIndex,
  BlobIndexOpener,
  IndexChange,
  PackRow,
  PackState,
  PlacedBlob,
} from "../blob-index.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import type { Disk } from "../../disk/disk.ts";
import { takesNoWrites } from "../io-trouble.ts";
import { rowAt, rowHash, rowHashBytes, rowsByHash, type BlobRows } from "../blob-rows.ts";
import { TEMPORARY } from "./index-connection.ts";
import { fromSqlite, isOfTheDisk, sqliteCode } from "./sqlite-error.ts";

/**
 * The schema of `blobs/index.db`. `blobs.pack` is the id of a pack, 0 for a content in a raw file of its own, or -1 for
 * a content in a container file. A database of another version is discarded, because it can be rebuilt from the packs.
 */
const VERSION = 1;
const SCHEMA = `
  CREATE TABLE packs(id INTEGER PRIMARY KEY AUTOINCREMENT, ulid TEXT NOT NULL UNIQUE, lane INTEGER, bytes INTEGER NOT NULL) STRICT;
  CREATE TABLE blobs(hash BLOB PRIMARY KEY, pack INTEGER NOT NULL, block INTEGER NOT NULL, block_bytes INTEGER NOT NULL,
    at INTEGER NOT NULL, length INTEGER NOT NULL, stored INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX blobs_by_pack ON blobs(pack);
  PRAGMA user_version = ${VERSION};`;
const PLACE = "pack, block, block_bytes, at, length, stored";
const COLUMNS = `hash, ${PLACE}`;
const LARGE_RAW = 0;
const LARGE_PACKED = -1;
const WAIT_FOR_WRITERS_MS = 10_000;

/**
 * The index in an SQLite file. Its write-ahead log is synced on commit only for a `durable` change. A power cut can
 * lose other commits, but never damages the file. The rows of a lost commit can be rebuilt from the packs and the large
 * files.
 */
class SqliteBlobIndex implements BlobIndex {
  readonly #disk: Disk;
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #statements = new Map<string, StatementSync>();
  /**
   * A cache of places, which is used only for reads within `together`. For any other read, checking whether the cache
   * is valid would take as long as a query.
   */
  readonly #recent = new RecentPlaces();
  #isTogether = false;

  constructor(disk: Disk, db: DatabaseSync, path: string) {
    this.#disk = disk;
    this.#db = db;
    this.#path = path;
  }

  has(hash: Hash): boolean {
    if (this.#isTogether && this.#recent.get(hash) !== undefined) return true;
    return this.#get("SELECT 1 FROM blobs WHERE hash = ?", hashToBytes(hash)) !== undefined;
  }

  find(hash: Hash): BlobPlace | undefined {
    const recent = this.#isTogether ? this.#recent.get(hash) : undefined;
    if (recent !== undefined) return recent;
    const row = this.#get(`SELECT ${PLACE} FROM blobs WHERE hash = ?`, hashToBytes(hash));
    return row === undefined ? undefined : toPlace(row);
  }

  together<T>(work: () => T): T {
    if (this.#db.isTransaction) return work();
    this.#begin();
    try {
      this.#isTogether = true;
      return work();
    } finally {
      this.#isTogether = false;
      // `work` only reads, so a rollback loses nothing.
      if (this.#db.isOpen && this.#db.isTransaction) this.#run("ROLLBACK");
    }
  }

  packs(): readonly PackRow[] {
    return this.#all("SELECT id, ulid, lane, bytes FROM packs ORDER BY id").map(toPackRow);
  }

  packOf(ulid: string): PackRow | undefined {
    const row = this.#get("SELECT id, ulid, lane, bytes FROM packs WHERE ulid = ?", ulid);
    return row === undefined ? undefined : toPackRow(row);
  }

  inPack(id: number): readonly PlacedBlob[] {
    return this.#all(`SELECT ${COLUMNS} FROM blobs WHERE pack = ? ORDER BY block, at`, id).map(toPlaced);
  }

  large(): readonly PlacedBlob[] {
    return this.#all(`SELECT ${COLUMNS} FROM blobs WHERE pack <= 0`).map(toPlaced);
  }

  apply(change: IndexChange): void {
    try {
      if (change.durable === true) this.#db.exec("PRAGMA synchronous = FULL");
      this.#run("BEGIN IMMEDIATE");
      try {
        this.#recent.look(this.#dataVersion());
        this.#change(change);
        this.#run("COMMIT");
      } catch (error) {
        this.#recent.forget();
        if (this.#db.isTransaction) this.#run("ROLLBACK");
        throw error;
      }
    } catch (error) {
      throw this.#trouble(error);
    } finally {
      if (change.durable === true) this.#db.exec("PRAGMA synchronous = NORMAL");
    }
  }

  close(): void {
    this.#statements.clear();
    if (this.#db.isOpen) this.#db.close();
  }

  /** Converts an error of SQLite. Removes a damaged database, so that the next opening rebuilds it from the packs. */
  #trouble(error: unknown): unknown {
    if (!isUnsound(error)) return fromSqlite(error, { disk: this.#disk, path: this.#path, isDerived: true });
    discard(this.#disk, this.#path);
    return new ChronicleError("INTEGRITY_VIOLATION", `${this.#path} is damaged and has been removed`, {
      cause: error,
      hint: "Try again: Chronicle rebuilds this file from the packs.",
    });
  }

  #change(change: IndexChange): void {
    if ((change.forget ?? change.forgetPacks) !== undefined || change.replace === true) this.#recent.forget();
    for (const hash of change.forget ?? []) this.#run("DELETE FROM blobs WHERE hash = ?", hashToBytes(hash));
    for (const id of change.forgetPacks ?? []) {
      this.#run("DELETE FROM blobs WHERE pack = ?", id);
      this.#run("DELETE FROM packs WHERE id = ?", id);
    }
    const ids = (change.packs ?? []).map((pack) => this.#putPack(pack));
    const insert = this.#insert(change.replace === true);
    if (change.rows !== undefined) putRows({ insert, recent: this.#recent }, change.rows, ids);
    for (const { hash, packed, length, stored } of change.large ?? []) {
      insert.run(hashToBytes(hash), packed ? LARGE_PACKED : LARGE_RAW, 0, 0, 0, length, stored);
    }
  }

  #insert(replace: boolean): StatementSync {
    return this.#prepare(`INSERT OR ${replace ? "REPLACE" : "IGNORE"} INTO blobs(${COLUMNS}) VALUES (?,?,?,?,?,?,?)`);
  }

  #putPack({ ulid, lane: inLane, bytes }: PackState): number {
    const lane = inLane ?? null;
    // Nearly every pack is known already. An upsert would write the table of last ids (`sqlite_sequence`) even for a
    // known pack.
    const known = this.#prepare("UPDATE packs SET lane = ?, bytes = ? WHERE ulid = ? RETURNING id").get(
      lane,
      bytes,
      ulid,
    );
    const row =
      known ?? this.#prepare("INSERT INTO packs(ulid, lane, bytes) VALUES (?,?,?) RETURNING id").get(ulid, lane, bytes);
    return numberOf(row?.["id"]);
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  /** Returns a number that changes whenever another connection changes the database. */
  #dataVersion(): number {
    return numberOf(this.#prepare("PRAGMA data_version").get()?.["data_version"]);
  }

  #begin(): void {
    try {
      this.#run("BEGIN");
      this.#recent.look(this.#dataVersion());
    } catch (error) {
      if (this.#db.isOpen && this.#db.isTransaction) this.#run("ROLLBACK");
      throw this.#trouble(error);
    }
  }

  #run(sql: string, ...values: (number | Uint8Array)[]): void {
    this.#prepare(sql).run(...values);
  }

  #get(sql: string, value: Uint8Array | string): Row | undefined {
    try {
      return this.#prepare(sql).get(value);
    } catch (error) {
      throw this.#trouble(error);
    }
  }

  #all(sql: string, ...values: number[]): Row[] {
    try {
      return this.#prepare(sql).all(...values);
    } catch (error) {
      throw this.#trouble(error);
    }
  }
}

/**
 * Returns a function that opens `blobs/index.db`, in an existing folder. An index that is missing, damaged or of
 * another version is created empty. If the disk takes no writes, the index of `whenReadOnly` is used and the store is
 * read-only. Without `whenReadOnly`, opening throws in that case.
 */
export function sqliteBlobIndex(disk: Disk, path: string, whenReadOnly?: () => BlobIndex): BlobIndexOpener {
  return () => {
    try {
      return { ...openOrDiscard(disk, path), readOnly: false };
    } catch (error) {
      const trouble = fromSqlite(error, { disk, path, isDerived: true });
      if (whenReadOnly === undefined || !cannotWrite(error) || isOutOfDescriptors(trouble)) throw trouble;
      return { index: whenReadOnly(), fresh: true, readOnly: true };
    }
  };
}

/**
 * Opens an empty index, which only the returned object uses. SQLite keeps it in memory, or, if it grows large, in a
 * nameless temporary file.
 */
export function temporaryBlobIndex(disk: Disk): BlobIndex {
  const opened = openDatabase(disk, TEMPORARY);
  if (opened === undefined) throw new Error("a temporary index has another version");
  return opened.index;
}

function openOrDiscard(disk: Disk, path: string): { index: BlobIndex; fresh: boolean } {
  try {
    const opened = openDatabase(disk, path);
    if (opened !== undefined) return opened;
  } catch (error) {
    if (!isUnsound(error)) throw error;
  }
  discard(disk, path);
  const opened = openDatabase(disk, path);
  if (opened === undefined) throw new Error(`${path}: a new index has another version`);
  return { ...opened, fresh: true };
}

function discard(disk: Disk, path: string): void {
  for (const suffix of ["-wal", "-shm", ""]) {
    if (disk.lstat(path + suffix) !== undefined) disk.unlink(path + suffix);
  }
}

/**
 * Opens or creates a database. Returns `undefined` if the database has another version. `fresh`: true if the tables
 * were created by this call.
 */
function openDatabase(disk: Disk, path: string): { index: BlobIndex; fresh: boolean } | undefined {
  createPrivate(disk, path);
  const db = new DatabaseSync(path, { timeout: WAIT_FOR_WRITERS_MS });
  try {
    // Hashes are scattered, so a thousand new hashes change as many pages. A larger checkpoint interval means fewer
    // checkpoints, each of which waits for the disk twice.
    db.exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000; PRAGMA temp_store = MEMORY",
    );
    let fresh = false;
    if (versionOf(db) === 0) {
      db.exec("BEGIN IMMEDIATE");
      if (versionOf(db) === 0) {
        db.exec(SCHEMA);
        fresh = true;
      }
      db.exec("COMMIT");
    }
    if (versionOf(db) === VERSION) {
      db.exec("SELECT count(*) FROM packs; SELECT hash FROM blobs LIMIT 1");
      return { index: new SqliteBlobIndex(disk, db, path), fresh };
    }
  } catch (error) {
    db.close();
    throw error;
  }
  db.close();
  return undefined;
}

/**
 * Creates the file (mode 0600) unless it exists. Does not open an existing file: closing a descriptor of the file would
 * drop this process's locks on the file.
 */
function createPrivate(disk: Disk, path: string): void {
  if (path === TEMPORARY || disk.lstat(path) !== undefined) return;
  try {
    disk.close(disk.open(path, "create", 0o600));
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}

function versionOf(db: DatabaseSync): number {
  return numberOf(db.prepare("PRAGMA user_version").get()?.["user_version"]);
}

function isUnsound(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === 1 /* a table is missing */ || code === 11 /* CORRUPT */ || code === 26; /* NOTADB */
}

/**
 * True if the error means that no file descriptor is free. The disk is then not at fault, and no other file could be
 * opened either.
 */
function isOutOfDescriptors(trouble: unknown): boolean {
  const errno = trouble instanceof ChronicleError ? trouble.data["errno"] : errnoOf(trouble);
  return errno === "EMFILE" || errno === "ENFILE";
}

function cannotWrite(error: unknown): boolean {
  // With ENOENT, the store's folder is missing, because it could not be created.
  return isOfTheDisk(error) || takesNoWrites(error) || errnoOf(error) === "ENOENT";
}

type Row = Record<string, unknown>;

function putRows(
  { insert, recent }: { readonly insert: StatementSync; readonly recent: RecentPlaces },
  rows: BlobRows,
  ids: readonly number[],
): void {
  for (const i of rowsByHash(rows)) {
    const row = rowAt(rows, i);
    const pack = ids[row.pack];
    if (pack === undefined) continue;
    const { block, blockBytes, at, length, stored } = row;
    const { changes } = insert.run(rowHashBytes(rows, i), pack, block, blockBytes, at, length, stored);
    // If the statement changed nothing, the content was already known, and keeps its place.
    if (changes === 1) recent.put(rowHash(rows, i), { kind: "pack", pack, block, blockBytes, at, length, stored });
  }
}

function toPackRow(row: Row): PackRow {
  return {
    id: numberOf(row["id"]),
    ulid: String(row["ulid"]),
    lane: row["lane"] === null ? undefined : numberOf(row["lane"]),
    bytes: numberOf(row["bytes"]),
  };
}

function toPlaced(row: Row): PlacedBlob {
  const hash = row["hash"] instanceof Uint8Array ? hashFromBytes(row["hash"]) : ("" as Hash);
  return { hash, place: toPlace(row) };
}

function toPlace(row: Row): BlobPlace {
  const pack = numberOf(row["pack"]);
  const length = numberOf(row["length"]);
  const stored = numberOf(row["stored"]);
  if (pack <= 0) return { kind: "large", packed: pack === LARGE_PACKED, length, stored };
  const block = numberOf(row["block"]);
  const blockBytes = numberOf(row["block_bytes"]);
  return { kind: "pack", pack, block, blockBytes, at: numberOf(row["at"]), length, stored };
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

/**
 * The minimum number of most recently added contents whose places the cache holds; the maximum is twice this number.
 */
const MOST_PLACES = 16_384;

/**
 * Caches the places of the contents that this connection added last. The code that wrote these contents looks them up
 * right afterwards. The cache must be cleared whenever a stored place may have changed, through this connection or
 * another one.
 */
export class RecentPlaces {
  readonly #places = new RecentMap<Hash, BlobPlace>(MOST_PLACES);
  #version: number | undefined;

  /** Clears the cache if another connection has changed the database. `version`: the current `PRAGMA data_version`. */
  look(version: number): void {
    if (version !== this.#version) this.forget();
    this.#version = version;
  }

  put(hash: Hash, place: BlobPlace): void {
    this.#places.put(hash, place);
  }

  get(hash: Hash): BlobPlace | undefined {
    return this.#places.get(hash);
  }

  forget(): void {
    this.#places.clear();
  }
}
