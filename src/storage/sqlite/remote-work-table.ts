import type { RemoteWorkRow } from "../../core/records/remote-work.ts";
import { bytesAt, numberAt, type Row, type Statements, textAt } from "./statements.ts";

const COLUMNS = "replica, session, turn, action, actor, first_seq, last_seq, first_ts, last_ts, events";

/** Work of other copies. Names are bytes, so that text with a NUL survives. */
export class RemoteWorkTable {
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
    return this.#sql.all(`SELECT ${COLUMNS} FROM remote_work ORDER BY last_seq, first_seq`).map(workRow);
  }

  /** What names an id as its session or its action. */
  naming(id: Uint8Array): RemoteWorkRow[] {
    const meant = `SELECT ${COLUMNS} FROM remote_work WHERE session = ? OR action = ? ORDER BY last_seq, first_seq`;
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
