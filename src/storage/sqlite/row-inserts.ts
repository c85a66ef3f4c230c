import type { Cell, Statements } from "./statements.ts";

/** The number of rows that one statement inserts. Inserting many rows at once saves time per row. */
const ROWS = 32;

/**
 * Inserts rows in groups. Requires a transaction. The caller must call `finish`, which inserts the last, incomplete
 * group.
 */
export class RowInserts {
  readonly #sql: Statements;
  readonly #one: string;
  readonly #many: string;
  readonly #width: number;
  #cells: Cell[] = [];

  /** `width`: the number of the table's columns. */
  constructor(sql: Statements, table: string, width: number) {
    const row = `(${Array(width).fill("?").join(", ")})`;
    this.#sql = sql;
    this.#one = `INSERT INTO ${table} VALUES ${row}`;
    this.#many = `INSERT INTO ${table} VALUES ${Array(ROWS).fill(row).join(", ")}`;
    this.#width = width;
  }

  add(...row: readonly Cell[]): void {
    for (const cell of row) this.#cells.push(cell);
    if (this.#cells.length < ROWS * this.#width) return;
    this.#sql.run(this.#many, ...this.#cells);
    this.#cells = [];
  }

  finish(): void {
    const cells = this.#cells;
    this.#cells = [];
    for (let at = 0; at < cells.length; at += this.#width)
      this.#sql.run(this.#one, ...cells.slice(at, at + this.#width));
  }
}
