import { type ClockJump, clockJumpsIn } from "../../core/values/clock-jumps.ts";
import type { EventOp } from "../../core/values/event.ts";
import { hashFromBytes, hashToBytes } from "../../core/values/hash.ts";
import type { EventRow, SeqRange } from "../index-store.ts";
import { RowInserts } from "./row-inserts.ts";
import { bytesAt, DamagedCell, numberAt, type Row, type Statements, textAt } from "./statements.ts";

const COLUMNS = "seq, ts, op, record_id, hash, offset, length, open";
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
 * The rows of events, without their bodies. Record ids are bytes, so that text with a NUL survives and the order is
 * bytewise.
 */
export class EventTable {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Adds rows, in event order. Requires a transaction. */
  addAll(events: readonly EventRow[]): void {
    this.#addJumps(events);
    const inserts = new RowInserts(this.#sql, "events", 8);
    for (const { seq, ts, op, recordId, hash, offset, length, open } of events) {
      const id = Buffer.from(recordId);
      // File records are never open, so the frequent events skip this.
      if (!recordId.startsWith("file")) {
        inserts.finish();
        this.#sql.run("UPDATE events SET open = 0 WHERE record_id = ? AND open = 1", id);
      }
      inserts.add(seq, ts, op, id, hashToBytes(hash), offset, length, open ? 1 : 0);
    }
    inserts.finish();
  }

  #addJumps(events: readonly EventRow[]): void {
    const last = this.#sql.first("SELECT ts FROM events ORDER BY seq DESC LIMIT 1");
    const jumps = clockJumpsIn(events, last === undefined ? undefined : textAt(last, 0));
    for (const { seq, ts, before } of jumps) this.#sql.run("INSERT INTO clock_jumps VALUES (?, ?, ?)", seq, ts, before);
  }

  clockJumps(): ClockJump[] {
    const rows = this.#sql.all("SELECT seq, ts, before FROM clock_jumps ORDER BY seq");
    return rows.map((row) => ({ seq: numberAt(row, 0), ts: textAt(row, 1), before: textAt(row, 2) }));
  }

  at(seq: number): EventRow | undefined {
    const row = this.#sql.first(`SELECT ${COLUMNS} FROM events WHERE seq = ?`, seq);
    return row === undefined ? undefined : eventRow(row);
  }

  range({ from, to, limit, descending = false }: SeqRange): EventRow[] {
    const order = descending ? "DESC" : "ASC";
    // SQLite re-plans a statement whenever another value is bound to its LIMIT, which takes longer than most queries.
    // Powers of two keep the number of statements small.
    const most = limit === undefined ? "" : ` LIMIT ${2 ** Math.ceil(Math.log2(limit))}`;
    const sql = `SELECT ${COLUMNS} FROM events WHERE seq BETWEEN ? AND ? ORDER BY seq ${order}${most}`;
    return this.#sql.all(sql, from, to).slice(0, limit).map(eventRow);
  }

  last(recordId: string): EventRow | undefined {
    const sql = `SELECT ${COLUMNS} FROM events WHERE record_id = ? ORDER BY seq DESC LIMIT 1`;
    const row = this.#sql.first(sql, Buffer.from(recordId));
    return row === undefined ? undefined : eventRow(row);
  }

  history(recordId: string): EventRow[] {
    const sql = `SELECT ${COLUMNS} FROM events WHERE record_id = ? ORDER BY seq`;
    return this.#sql.all(sql, Buffer.from(recordId)).map(eventRow);
  }

  lastWithPrefix(prefix: string): EventRow[] {
    const sql = `SELECT ${COLUMNS} FROM events WHERE seq IN
      (SELECT max(seq) FROM events WHERE record_id >= ? AND record_id < ? GROUP BY record_id)
      AND op <> 'delete' ORDER BY seq`;
    return this.#sql.all(sql, ...spanOf(prefix)).map(eventRow);
  }

  openWithPrefix(prefix: string): EventRow[] {
    const sql = `SELECT ${COLUMNS} FROM events WHERE open = 1 AND record_id >= ? AND record_id < ? ORDER BY seq`;
    return this.#sql.all(sql, ...spanOf(prefix)).map(eventRow);
  }
}

/**
 * Returns the range of ids with this prefix. No byte of UTF-8 is 0xFF, so it sorts after everything with the prefix.
 */
function spanOf(prefix: string): [Buffer, Buffer] {
  const from = Buffer.from(prefix);
  return [from, Buffer.concat([from, Buffer.from([0xff])])];
}
