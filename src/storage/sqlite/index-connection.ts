import { DatabaseSync } from "node:sqlite";
import type { RemoteWorkRow } from "../../core/records/remote-work.ts";
import { bytesAt, numberAt, type Row, Statements, textAt, DamagedCell } from "./statements.ts";
import { type ClockJump, clockJumpsIn } from "../../core/values/clock-jumps.ts";
import type { EventOp } from "../../core/values/event.ts";
import { hashFromBytes, hashToBytes } from "../../core/values/hash.ts";
import type { EventRow, SeqRange } from "../index-store.ts";
import { RowInserts } from "./row-inserts.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import type { Disk } from "../../disk/disk.ts";
import { FolderTable } from "./folder-table.ts";
import { prepareIndex } from "./index-schema.ts";
import { IterationTable } from "./iteration-table.ts";
import { KnownRecords } from "./known-records.ts";
import { fromSqlite } from "./sqlite-error.ts";
import { TickTable } from "./tick-table.ts";

const REMOTE_WORK_COLUMNS = "replica, session, turn, action, actor, first_seq, last_seq, first_ts, last_ts, events";

/**
 * The maximum time, in ms, to wait for a write of another process. Such a wait is rare, because writers hold the
 * workspace's lock.
 */
const BUSY_MS = 5_000;

/** The path of a private database: SQLite keeps it in memory, or, if it is large, in an unnamed temporary file. */
export const TEMPORARY = "";

export class IndexConnection {
  readonly db: DatabaseSync;
  readonly sql: Statements;
  readonly folders: FolderTable;
  readonly iterations: IterationTable;
  readonly events: EventTable;
  readonly remoteWork: RemoteWorkTable;
  readonly ticks: TickTable;

  /**
   * Opens the index at this path, which may be `TEMPORARY`. If the file does not exist, creates it (mode 0600) with
   * empty tables. Throws `INTEGRITY_VIOLATION` if the file is not a sound index.
   */
  constructor(path: string, disk: Disk) {
    try {
      if (path !== TEMPORARY && disk.lstat(path) === undefined) create(disk, path);
      this.db = new DatabaseSync(path, { timeout: BUSY_MS });
    } catch (error) {
      throw indexTrouble(error, { disk, path });
    }
    try {
      prepareIndex(this.db);
    } catch (error) {
      this.db.close();
      throw indexTrouble(error, { disk, path });
    }
    this.sql = new Statements(this.db);
    this.folders = new FolderTable(this.sql);
    this.iterations = new IterationTable(this.sql, this.folders);
    this.events = new EventTable(this.sql);
    this.remoteWork = new RemoteWorkTable(this.sql);
    this.ticks = new TickTable(this.sql);
  }

  /** Returns a connection to a temporary database with the file's present content. */
  static copyOf(path: string, disk: Disk): IndexConnection {
    const copy = new IndexConnection(TEMPORARY, disk);
    try {
      copy.#fillFrom(path);
      return copy;
    } catch (error) {
      copy.close();
      throw error;
    }
  }

  close(): void {
    if (this.db.isOpen) this.db.close();
  }

  #fillFrom(path: string): void {
    this.db.prepare("ATTACH ? AS file").run(path);
    this.db.exec("BEGIN");
    const sql = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    for (const [name] of this.sql.all(sql)) {
      const table = `"${String(name).replaceAll('"', '""')}"`;
      this.db.exec(`DELETE FROM main.${table}; INSERT INTO main.${table} SELECT * FROM file.${table}`);
    }
    this.db.exec("COMMIT; DETACH file");
  }
}

interface IndexPlace {
  readonly disk: Disk;
  readonly path: string;
}

/**
 * Converts an error of the index at this path to a `ChronicleError`: see `fromSqlite`. A cell with an impossible value
 * becomes `INTEGRITY_VIOLATION`. Returns errors of other causes unchanged.
 */
export function indexTrouble(error: unknown, { disk, path }: IndexPlace): unknown {
  const outOfRange = error instanceof RangeError && "code" in error && error.code === "ERR_OUT_OF_RANGE";
  if (!outOfRange && !(error instanceof DamagedCell)) return fromSqlite(error, { disk, path, isDerived: true });
  return new ChronicleError("INTEGRITY_VIOLATION", `${path}: ${error.message}`, { cause: error, data: { path } });
}

function create(disk: Disk, path: string): void {
  try {
    disk.close(disk.open(path, "create", 0o600));
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}

/**
 * The table of work that was done at other copies of the workspace. Its ids are stored as bytes, because SQLite may end
 * a text at a NUL.
 */
class RemoteWorkTable {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  add({ replica, session, turn, action, actor, ...row }: RemoteWorkRow): void {
    this.#sql.run(
      `INSERT INTO remote_work VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET actor = excluded.actor, last_seq = excluded.last_seq, last_ts = excluded.last_ts,
         events = events + excluded.events`,
      ...[replica, session, turn, action, actor].map((text) => Buffer.from(text)),
      row.firstSeq,
      row.lastSeq,
      row.firstTs,
      row.lastTs,
      row.events,
    );
  }

  all(): RemoteWorkRow[] {
    return this.#sql.all(`SELECT ${REMOTE_WORK_COLUMNS} FROM remote_work ORDER BY last_seq, first_seq`).map(workRow);
  }

  naming(id: Uint8Array): RemoteWorkRow[] {
    const meant = `SELECT ${REMOTE_WORK_COLUMNS} FROM remote_work WHERE session = ? OR action = ? ORDER BY last_seq, first_seq`;
    return this.#sql.all(meant, id, id).map(workRow);
  }
}

function workRow(row: Row): RemoteWorkRow {
  const [replica = "", session = "", turn = "", action = "", actor = ""] = [0, 1, 2, 3, 4].map((at) =>
    bytesAt(row, at).toString("utf8"),
  );
  const [firstSeq, lastSeq] = [numberAt(row, 5), numberAt(row, 6)];
  const [firstTs, lastTs] = [textAt(row, 7), textAt(row, 8)];
  return { replica, session, turn, action, actor, firstSeq, lastSeq, firstTs, lastTs, events: numberAt(row, 9) };
}

const EVENT_COLUMNS = "seq, ts, op, record_id, hash, offset, length, open";
const OPS: ReadonlySet<string> = new Set<EventOp>(["upsert", "delete", "compact", "migrate"]);

function isOp(text: string): text is EventOp {
  return OPS.has(text);
}

function eventRow(row: Row): EventRow {
  const op = textAt(row, 2);
  if (!isOp(op)) throw new DamagedCell(`an event has the op ${JSON.stringify(op)}`);
  return {
    seq: numberAt(row, 0),
    ts: textAt(row, 1),
    op,
    recordId: bytesAt(row, 3).toString("utf8"),
    hash: hashFromBytes(bytesAt(row, 4)),
    offset: numberAt(row, 5),
    length: numberAt(row, 6),
    open: numberAt(row, 7) === 1,
  };
}

/**
 * The minimum number of events for which `addAll` works in bulk. In bulk, `addAll` first reads the ids of all open
 * records, and forgets all remembered answers. For fewer events, it is faster to handle each record separately.
 */
const MANY_EVENTS = 200;

/**
 * The table of events. Record ids are stored as bytes, because SQLite may end a text at a NUL, and because the ids must
 * sort bytewise.
 */
class EventTable {
  readonly #sql: Statements;
  readonly #known = new KnownRecords();
  #jumps: readonly ClockJump[] | undefined;
  #openIds: Set<string> | undefined;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /**
   * Drops all remembered answers. Must be called after another connection has added or removed events, and after a
   * rollback.
   */
  forget(): void {
    this.#known.forget();
    this.#jumps = undefined;
    this.#openIds = undefined;
  }

  /** Adds rows, in event order. Requires a transaction. */
  addAll(events: readonly EventRow[]): void {
    const isBulk = events.length >= MANY_EVENTS;
    if (isBulk) this.#known.forget();
    else for (const { recordId } of events) this.#known.forgetRecord(recordId);
    this.#addJumps(events);
    const inserts = new RowInserts(this.#sql, "events", 8);
    const openIds = isBulk ? this.#openIdsNow() : this.#openIds;
    for (const { seq, ts, op, recordId, hash, offset, length, open } of events) {
      const id = Buffer.from(recordId);
      // A file record is never open, so its frequent events need no update of an earlier row.
      if (openIds?.delete(recordId) ?? !recordId.startsWith("file")) {
        inserts.finish();
        this.#sql.run("UPDATE events SET open = 0 WHERE record_id = ? AND open = 1", id);
      }
      if (open) openIds?.add(recordId);
      inserts.add(seq, ts, op, id, hashToBytes(hash), offset, length, open ? 1 : 0);
    }
    inserts.finish();
  }

  /** Returns the ids of the open records. Only these records have an earlier row that a new event must update. */
  #openIdsNow(): Set<string> {
    this.#openIds ??= new Set(
      this.#sql.all("SELECT record_id FROM events WHERE open = 1").map((row) => bytesAt(row, 0).toString("utf8")),
    );
    return this.#openIds;
  }

  #addJumps(events: readonly EventRow[]): void {
    const last = this.#sql.first("SELECT ts FROM events ORDER BY seq DESC LIMIT 1");
    const jumps = clockJumpsIn(events, last === undefined ? undefined : textAt(last, 0));
    if (jumps.length > 0) this.#jumps = undefined;
    for (const { seq, ts, before } of jumps) this.#sql.run("INSERT INTO clock_jumps VALUES (?, ?, ?)", seq, ts, before);
  }

  clockJumps(): readonly ClockJump[] {
    this.#jumps ??= this.#sql
      .all("SELECT seq, ts, before FROM clock_jumps ORDER BY seq")
      .map((row) => ({ seq: numberAt(row, 0), ts: textAt(row, 1), before: textAt(row, 2) }));
    return this.#jumps;
  }

  at(seq: number): EventRow | undefined {
    const row = this.#sql.first(`SELECT ${EVENT_COLUMNS} FROM events WHERE seq = ?`, seq);
    return row === undefined ? undefined : eventRow(row);
  }

  range({ from, to, limit, descending = false }: SeqRange): EventRow[] {
    const order = descending ? "DESC" : "ASC";
    // The limit is part of the text, because SQLite re-plans a statement whenever another value is bound to its LIMIT,
    // and planning takes longer than most queries. The limit is a power of two, so that there are few different texts.
    const most = limit === undefined ? "" : ` LIMIT ${2 ** Math.ceil(Math.log2(limit))}`;
    const sql = `SELECT ${EVENT_COLUMNS} FROM events WHERE seq BETWEEN ? AND ? ORDER BY seq ${order}${most}`;
    return this.#sql.all(sql, from, to).slice(0, limit).map(eventRow);
  }

  last(recordId: string): EventRow | undefined {
    return this.#known.last(recordId, () => {
      const sql = `SELECT ${EVENT_COLUMNS} FROM events WHERE record_id = ? ORDER BY seq DESC LIMIT 1`;
      const row = this.#sql.first(sql, Buffer.from(recordId));
      return row === undefined ? undefined : eventRow(row);
    });
  }

  history(recordId: string): EventRow[] {
    const sql = `SELECT ${EVENT_COLUMNS} FROM events WHERE record_id = ? ORDER BY seq`;
    return this.#sql.all(sql, Buffer.from(recordId)).map(eventRow);
  }

  lastWithPrefix(prefix: string): readonly EventRow[] {
    const sql = `SELECT ${EVENT_COLUMNS} FROM events WHERE seq IN
      (SELECT max(seq) FROM events WHERE record_id >= ? AND record_id < ? GROUP BY record_id)
      AND op <> 'delete' ORDER BY seq`;
    return this.#known.group("last", prefix, () => this.#sql.all(sql, ...spanOf(prefix)).map(eventRow));
  }

  lastAcross(prefix: string, seq: number): readonly EventRow[] {
    // The inner query reads the index `events_by_record` only.
    const sql = `SELECT ${EVENT_COLUMNS} FROM events WHERE seq IN
      (SELECT max(seq) FROM events WHERE record_id >= ? AND record_id < ? GROUP BY record_id
      HAVING min(seq) <= ? AND max(seq) > ?) ORDER BY seq`;
    return this.#sql.all(sql, ...spanOf(prefix), seq, seq).map(eventRow);
  }

  openWithPrefix(prefix: string): readonly EventRow[] {
    const sql = `SELECT ${EVENT_COLUMNS} FROM events WHERE open = 1 AND record_id >= ? AND record_id < ? ORDER BY seq`;
    return this.#known.group("open", prefix, () => this.#sql.all(sql, ...spanOf(prefix)).map(eventRow));
  }
}

/**
 * Returns the range of the ids with a prefix, as its start and its exclusive end. The end is the prefix followed by the
 * byte 0xFF. UTF-8 does not use this byte, so the end sorts after all these ids.
 */
function spanOf(prefix: string): [Buffer, Buffer] {
  const from = Buffer.from(prefix);
  return [from, Buffer.concat([from, Buffer.from([0xff])])];
}
