import { numberAt, type Row } from "./statements.ts";

/** Asks a table that is ordered by the numbers of folders. */
export interface FolderRows {
  /** Rows of this folder and of those behind it, at most `limit`. */
  readonly from: (folder: number, limit: number) => readonly Row[];
  /** The column that holds the number of the folder. */
  readonly folderAt: number;
}

/** So many folders are asked for one by one before a page is read: most walks are short. */
const SINGLES = 8;
const LEAST_ROWS = 128;
const MOST_ROWS = 2_048;
/** A page that has answered for fewer folders was not worth it. */
const WORTH = 4;

/**
 * Rows of one folder after the other. Folders that were recorded together have numbers that follow one another, so a walk
 * asks for nearly all of them in the order of the table: then one query answers for hundreds. Where that is not so, each is
 * asked for by itself again, and a page is tried ever less often. Holds one page.
 */
export class ReadAhead {
  readonly #rows: FolderRows;
  /** By folder, those of which all rows are here. */
  readonly #page = new Map<number, Row[]>();
  /** The page speaks for folders from one number to before another; those of which it has nothing have no rows. */
  #first = 0;
  #end = 0;
  #answered = WORTH;
  #limit = LEAST_ROWS;
  #singles = SINGLES;
  #pause = SINGLES;

  constructor(rows: FolderRows) {
    this.#rows = rows;
  }

  /** All rows of a folder; `undefined`: it is to be asked for by itself. */
  of(folder: number): readonly Row[] | undefined {
    if (!this.#speaksFor(folder) && this.#mayRead()) this.#readFrom(folder);
    if (!this.#speaksFor(folder)) return undefined;
    this.#answered += 1;
    return this.#page.get(folder) ?? [];
  }

  #speaksFor(folder: number): boolean {
    return folder >= this.#first && folder < this.#end;
  }

  /** Is a page worth reading? */
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
    // Of the last folder on a full page there may be more.
    this.#end = rows.length < limit || last === undefined ? Infinity : numberAt(last, this.#rows.folderAt);
    this.#answered = 0;
    this.#limit = Math.min(limit * 4, MOST_ROWS);
  }
}
