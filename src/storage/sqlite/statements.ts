import type { DatabaseSync, StatementSync } from "node:sqlite";

export type Cell = null | number | string | Uint8Array;

/** The prepared statements of one connection, each prepared on first use. Rows are arrays of cells. */
export class Statements {
  readonly #db: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  run(sql: string, ...cells: readonly Cell[]): void {
    this.#of(sql).run(...cells);
  }

  insert(sql: string, ...cells: readonly Cell[]): number {
    return Number(this.#of(sql).run(...cells).lastInsertRowid);
  }

  all(sql: string, ...cells: readonly Cell[]): readonly Row[] {
    // After `setReturnArrays`, each row is an array. The types of node:sqlite do not express this.
    return this.#of(sql).all(...cells) as unknown as Cell[][];
  }

  first(sql: string, ...cells: readonly Cell[]): Row | undefined {
    return this.#of(sql).get(...cells) as unknown as Cell[] | undefined;
  }

  #of(sql: string): StatementSync {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      statement.setReturnArrays(true);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }
}

/**
 * Returns a LIMIT clause for `limit` rows, rounded up to a power of two; empty if there is no limit. The caller drops
 * the surplus rows. The limit is part of the text, because SQLite re-plans a statement whenever another value is bound
 * to its LIMIT, and planning takes longer than most queries. Powers of two keep the number of prepared statements
 * small.
 */
export function atMost(limit: number | undefined): string {
  return limit === undefined ? "" : ` LIMIT ${2 ** Math.ceil(Math.log2(Math.max(1, limit)))}`;
}

/** One row: its cells, in the order of the statement's columns. */
export type Row = readonly Cell[];

/**
 * Returns the cell as a number. Throws `DamagedCell` for a cell of another type, because Chronicle never writes such a
 * cell there.
 */
export function numberAt(row: Row, at: number): number {
  const cell = row[at];
  if (typeof cell === "number") return cell;
  throw new DamagedCell(`column ${at} holds ${typeof cell}, not a number`);
}

/** Like `numberAt`, for text. */
export function textAt(row: Row, at: number): string {
  const cell = row[at];
  if (typeof cell === "string") return cell;
  throw new DamagedCell(`column ${at} holds ${typeof cell}, not text`);
}

/** Like `numberAt`, for bytes. */
export function bytesAt(row: Row, at: number): Buffer {
  const cell = row[at];
  if (cell instanceof Uint8Array) return Buffer.from(cell.buffer, cell.byteOffset, cell.byteLength);
  throw new DamagedCell(`column ${at} holds ${typeof cell}, not bytes`);
}

/** The error for cells or rows that Chronicle never writes. Such cells or rows show that the database is damaged. */
export class DamagedCell extends Error {}
