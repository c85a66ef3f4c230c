import type { DatabaseSync } from "node:sqlite";

/** The version of the tables, in `user_version`. An index of another version is emptied, and rebuilt from the log. */
const FORMAT = 11;

/**
 * The tables:
 * - `state`: the last event that the index includes. `frontier` ends with a checksum of `seq`, `hash`, `offset` and the
 *   frontier, because heads are signed from these values. `generation` counts resets, so that a connection notices a
 *   reset by another process. `damaged_seq`: the event whose line was found damaged; 0 if none was. `tree_seq`: the
 *   event up to which `tree` has all folder hashes.
 * - `events`: `open` is 1 only for the last event of an unfinished record, such as a running session or an open action.
 * - `clock_jumps`: events whose time is before the time of the previous event.
 * - `commits`: `first` and `last` are the seqs of a commit's events. `rooted`: 1 if the last event states a Merkle
 *   root.
 * - `folders`: one row for each folder that ever contained something. The top is row 1, and its parent is 0.
 * - `remote_work`: `replica`, `session`, `turn`, `action` and `actor` are bytes, empty if absent.
 * - `iterations`: names are bytes, so that their order is path order. `kind`: 0 is a deletion, 1 a file, 2 a symlink, 3
 *   a folder, 4 a protected file. `mtime_ns`: the nanoseconds after `mtime`, which is in milliseconds.
 * - `tree`: the Merkle hash of a folder as of a seq; NULL if the folder was removed.
 * - `ticks`: one row for each piece of work (`TickRow`), by the seq of its last event. `kind` and `outcome` are
 *   positions in `TICK_KINDS` and `TICK_OUTCOMES`. `actor`, `session` and `turn` refer to rows of `tick_words`, whose
 *   words are bytes.
 * - `private_bound`: at most one row (`PrivateBound`).
 */
const TABLES = `
  CREATE TABLE state (
    seq INTEGER NOT NULL, hash TEXT NOT NULL, offset INTEGER NOT NULL, frontier TEXT NOT NULL,
    tree_seq INTEGER NOT NULL, generation INTEGER NOT NULL, damaged_seq INTEGER NOT NULL);
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY, ts TEXT NOT NULL, op TEXT NOT NULL, record_id BLOB NOT NULL, hash BLOB NOT NULL,
    offset INTEGER NOT NULL, length INTEGER NOT NULL, open INTEGER NOT NULL);
  CREATE INDEX events_by_record ON events (record_id);
  CREATE INDEX events_open ON events (record_id) WHERE open = 1;
  CREATE TABLE clock_jumps (seq INTEGER PRIMARY KEY, ts TEXT NOT NULL, before TEXT NOT NULL);
  CREATE TABLE commits (last INTEGER PRIMARY KEY, first INTEGER NOT NULL, rooted INTEGER NOT NULL);
  CREATE INDEX commits_rooted ON commits (last) WHERE rooted = 1;
  CREATE TABLE folders (id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, name BLOB NOT NULL, UNIQUE (parent, name));
  INSERT INTO folders VALUES (1, 0, x'');
  CREATE TABLE iterations (
    folder INTEGER NOT NULL, name BLOB NOT NULL, seq INTEGER NOT NULL, iteration INTEGER NOT NULL,
    kind INTEGER NOT NULL, mode INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL, hash BLOB,
    PRIMARY KEY (folder, name, seq)) WITHOUT ROWID;
  CREATE INDEX iterations_by_seq ON iterations (seq);
  CREATE INDEX iterations_protected ON iterations (folder, name) WHERE kind = 4;
  CREATE TABLE remote_work (
    replica BLOB NOT NULL, session BLOB NOT NULL, turn BLOB NOT NULL, action BLOB NOT NULL, actor BLOB NOT NULL,
    first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, first_ts TEXT NOT NULL, last_ts TEXT NOT NULL,
    events INTEGER NOT NULL, PRIMARY KEY (replica, session, turn, action)) WITHOUT ROWID;
  CREATE TABLE tree (
    folder INTEGER NOT NULL, seq INTEGER NOT NULL, hash BLOB, PRIMARY KEY (folder, seq)) WITHOUT ROWID;
  CREATE TABLE tick_words (id INTEGER PRIMARY KEY, word BLOB NOT NULL UNIQUE);
  CREATE TABLE ticks (
    last INTEGER PRIMARY KEY, first INTEGER NOT NULL UNIQUE, kind INTEGER NOT NULL, outcome INTEGER NOT NULL,
    started INTEGER NOT NULL, ended INTEGER NOT NULL, actor INTEGER NOT NULL, session INTEGER NOT NULL,
    turn INTEGER NOT NULL, changed INTEGER NOT NULL);
  CREATE TABLE private_bound (seq INTEGER NOT NULL, bytes INTEGER NOT NULL);
`;

/** Sets up the connection, and recreates the tables if they are missing or of another version. */
export function prepareIndex(db: DatabaseSync): void {
  // WAL with `synchronous = NORMAL` syncs checkpoints, but not commits. A power cut can set the index back to an
  // earlier head, but never damages the index. With `synchronous = OFF`, a power cut could damage the index, and SQLite
  // would not notice. OFF is used only while an empty file becomes a database in WAL mode. If a power cut damages the
  // file during that time, the file is not a database, and is made anew.
  db.exec(
    "PRAGMA synchronous = OFF; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000; " +
      "PRAGMA cell_size_check = ON; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY",
  );
  if (versionOf(db) === FORMAT) return;
  db.exec("BEGIN IMMEDIATE");
  if (versionOf(db) !== FORMAT) recreateTables(db, 0);
  db.exec("COMMIT");
}

/**
 * Replaces all tables by empty tables. `generation`: the number of resets, including this one. Requires a transaction.
 */
export function recreateTables(db: DatabaseSync, generation: number): void {
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all();
  for (const { name } of tables) db.exec(`DROP TABLE "${String(name).replaceAll('"', '""')}"`);
  db.exec(`${TABLES} INSERT INTO state VALUES (0, '', 0, '', 0, ${generation}, 0); PRAGMA user_version = ${FORMAT}`);
}

function versionOf(db: DatabaseSync): unknown {
  return db.prepare("PRAGMA user_version").get()?.["user_version"];
}
