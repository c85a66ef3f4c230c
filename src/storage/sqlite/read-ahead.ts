import { numberAt, type Row } from "./statements.ts";

/** Queries a table that is ordered by folder number. */
export interface FolderRows {
  /** Returns rows of this folder and of later ones, at most `limit`. */
  readonly from: (folder: number, limit: number) => readonly Row[];
  /** The column with the number of the folder. */
  readonly folderAt: number;
}

/** Folders that are queried one by one before a page is read, because most walks are short. */
const SINGLES = 8;
const LEAST_ROWS = 128;
const MOST_ROWS = 2_048;
/** Least number of folders that a page must answer for to be worth it. */
const WORTH = 4;

/**
 * Reads the rows of one folder after the other. Folders that were recorded together have consecutive numbers, so a walk
 * reads nearly all of them in table order: then one query answers for hundreds. Otherwise each folder is queried
 * separately again, and pages are tried ever less often. Holds one page.
 */
export class ReadAhead {
  readonly #rows: FolderRows;
  /** The rows by folder, for folders whose rows are all here. */
  readonly #page = new Map<number, Row[]>();
  /** The page covers the folders from `#first` to before `#end`. Those without rows in it have none. */
  #first = 0;
  #end = 0;
  #answered = WORTH;
  #limit = LEAST_ROWS;
  #singles = SINGLES;
  #pause = SINGLES;

  constructor(rows: FolderRows) {
    this.#rows = rows;
  }

  /** Returns all rows of a folder; `undefined` if it must be queried separately. */
  of(folder: number): readonly Row[] | undefined {
    if (!this.#speaksFor(folder) && this.#mayRead()) this.#readFrom(folder);
    if (!this.#speaksFor(folder)) return undefined;
    this.#answered += 1;
    return this.#page.get(folder) ?? [];
  }

  #speaksFor(folder: number): boolean {
    return folder >= this.#first && folder < this.#end;
  }

  /** True if reading a page is worth it. */
  #mayRead(): boolean {
    if (this.#singles > 0) {
      this.#singles -= 1;
      return false;
    }
    if (this.#answered >= WORTH) return true;
    this.#pause *= 2;
    this.#singles = this.#pause;
    this.#limit = LEAST_ROWS;
    this.#answered = WORTH;
    return false;
  }

  #readFrom(folder: number): void {
    const limit = this.#limit;
    const rows = this.#rows.from(folder, limit);
    this.#page.clear();
    for (const row of rows) {
      const at = numberAt(row, this.#rows.folderAt);
      const known = this.#page.get(at);
      if (known === undefined) this.#page.set(at, [row]);
      else known.push(row);
    }
    const last = rows.at(-1);
    this.#first = folder;
    // The last folder on a full page may have more rows.
    this.#end = rows.length < limit || last === undefined ? Infinity : numberAt(last, this.#rows.folderAt);
    this.#answered = 0;
    this.#limit = Math.min(limit * 4, MOST_ROWS);
  }
}
