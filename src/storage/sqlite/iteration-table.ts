import {
  type WorkspacePath,
  childOf,
  compareNames,
  comparePaths,
  decodeName,
  nameOf,
  parentOf,
  pathToBytes,
  ROOT,
} from "../../core/values/path.ts";
import { RecentMap } from "../../util/recent-map.ts";
import type { IterationRow, IterationPage } from "../index-store.ts";
import { numberAt, type Row, atMost, bytesAt, DamagedCell, type Statements, textAt } from "./statements.ts";
import { type Entry, type EntryKind, restOfTime } from "../../core/values/entry.ts";
import { hashToBytes, type Hash } from "../../core/values/hash.ts";
import type { FolderTable } from "./folder-table.ts";
import { RowInserts } from "./row-inserts.ts";

const DELETED = 0;
const KINDS: readonly (EntryKind | undefined)[] = [undefined, "file", "symlink", "dir", "file"];

const PROTECTED = 4;

/**
 * The SQL expression for a hash as text; the text is empty if there is no hash. Reading many small blobs would take
 * SQLite twice as long as reading texts.
 */
const HASH = "lower(hex(hash))";
const COLUMNS = `seq, iteration, kind, mode, size, mtime, mtime_ns, ${HASH}`;

/**
 * The maximum number of rows in one page. The first page of a folder is smaller (`FIRST_PAGE`), because most folders
 * are small.
 */
const PAGE = 2_000;
const FIRST_PAGE = 128;

/**
 * The minimum number of paths that `atEach` groups by folder. In a folder with at least `SOME_IN_FOLDER` of these
 * paths, `atEach` reads ranges of names instead of single names.
 */
const MANY = 32;
const SOME_IN_FOLDER = 4;

/**
 * The maximum number of rows that one query reads for each wanted row. Rows of other names and of old iterations are
 * read in vain, and this maximum limits their cost.
 */
const SPARE_ROWS = 4;

/** The empty name, which sorts before every other name. */
const NONE = Buffer.alloc(0);

export interface NamedRow {
  readonly name: string;
  readonly row: Row;
}

export interface RowPlace {
  readonly seq: number;
  readonly folder: number;
  readonly name: Uint8Array;
}

/** Returns the place after all rows of a seq. */
export function behindSeq(seq: number): RowPlace {
  return { seq, folder: Number.MAX_SAFE_INTEGER, name: NONE };
}

/** One page of rows. `end`: the position of its last row; `undefined` if no more rows follow. */
interface RowPage {
  readonly rows: readonly IterationRow[];
  readonly end: RowPlace | undefined;
}

/**
 * The character that replaces non-UTF-8 bytes when a cell is read as text. A name that contains this character must be
 * read as bytes.
 */
const REPLACED = "\ufffd";

function isPresent({ row }: NamedRow): boolean {
  return row[2] !== DELETED;
}

/**
 * Returns the rows with their names; `undefined` if no rows are given, or if a name is not plain text (not UTF-8, or
 * begins with a NUL).
 */
function namedRows(rows: readonly Row[] | undefined, nameAt: number): NamedRow[] | undefined {
  if (rows === undefined) return undefined;
  const named: NamedRow[] = [];
  for (const row of rows) {
    const name = textAt(row, nameAt);
    // An empty text may stand for a name that begins with a NUL, because SQLite may end a text at a NUL. The folder of
    // a further root has such a name.
    if (name === "" || name.includes(REPLACED)) return undefined;
    named.push({ name, row });
  }
  return named;
}

function entryOf(path: WorkspacePath, row: Row): Entry | undefined {
  const code = numberAt(row, 2);
  if (code === DELETED) return undefined;
  const kind = KINDS[code];
  if (kind === undefined) throw new DamagedCell(`an iteration has the kind ${code}`);
  const entry = {
    path,
    kind,
    mode: numberAt(row, 3),
    size: numberAt(row, 4),
    mtimeMs: numberAt(row, 5),
    mtimeRestNs: restOfTime(numberAt(row, 6)),
    hash: hashAt(row, 7),
  };
  return code === PROTECTED ? { ...entry, class: "protected" } : entry;
}

function hashAt(row: Row, at: number): Hash | undefined {
  const text = textAt(row, at);
  if (text === "") return undefined;
  if (text.length !== 64) throw new DamagedCell(`column ${at} holds ${text.length / 2} bytes, which are no hash`);
  return text as Hash;
}

export function iterationRow(path: WorkspacePath, row: Row): IterationRow {
  return { path, seq: numberAt(row, 0), iteration: numberAt(row, 1), entry: entryOf(path, row) };
}

/** The table of all iterations of all paths, by folder and name. */
export class IterationTable {
  readonly #sql: Statements;
  readonly #folders: FolderTable;
  readonly #last = new LastRows();

  constructor(sql: Statements, folders: FolderTable) {
    this.#sql = sql;
    this.#folders = folders;
  }

  /** Clears the cache of last iterations. Must be called whenever another connection may have added rows. */
  forget(): void {
    this.#last.forget();
  }

  /** Adds iterations. Requires a transaction. */
  addAll(rows: Iterable<IterationRow>): void {
    const inserts = new RowInserts(this.#sql, "iterations", 10);
    let folderPath: WorkspacePath | undefined;
    let folder = 0;
    let count = 0;
    for (const row of rows) {
      const { path, seq, iteration, entry } = row;
      // If there are more rows than the cache holds, cache none of them, because the first rows would be evicted before
      // they are read.
      if ((count += 1) <= MOST_LAST_ROWS) this.#last.put(row);
      else if (count === MOST_LAST_ROWS + 1) this.#last.forget();
      const parent = parentOf(path);
      // Rows mostly come folder by folder.
      if (parent !== folderPath) folder = this.#folders.ensure((folderPath = parent));
      const name = pathToBytes(nameOf(path));
      if (entry === undefined) {
        inserts.add(folder, name, seq, iteration, DELETED, 0, 0, 0, 0, null);
        continue;
      }
      const { kind, mode, size, mtimeMs, mtimeRestNs = 0, hash } = entry;
      const hashBytes = hash === undefined ? null : hashToBytes(hash);
      const code = entry.class === "protected" ? PROTECTED : KINDS.indexOf(kind);
      inserts.add(folder, name, seq, iteration, code, mode, size, mtimeMs, mtimeRestNs, hashBytes);
    }
    inserts.finish();
  }

  all(path: WorkspacePath, { after, limit }: IterationPage = {}): IterationRow[] {
    const folder = this.#folders.find(parentOf(path));
    if (folder === undefined || limit === 0) return [];
    const sql = `SELECT ${COLUMNS} FROM iterations WHERE folder = ? AND name = ? AND iteration > ? ORDER BY seq${atMost(limit)}`;
    const rows = this.#sql.all(sql, folder, pathToBytes(nameOf(path)), after ?? 0);
    return rows.slice(0, limit).map((row) => iterationRow(path, row));
  }

  /** Makes `withContent` fast from now on. Requires a transaction. */
  indexContents(): void {
    this.#sql.run("CREATE INDEX IF NOT EXISTS iterations_by_content ON iterations (hash, seq) WHERE hash IS NOT NULL");
  }

  /** Returns the last iteration with a content or link target. `ordinary`: skips iterations of protected files. */
  withContent(hash: Hash, ordinary: boolean): IterationRow | undefined {
    const among = ordinary ? `hash = ? AND kind <> ${PROTECTED}` : "hash = ?";
    const sql = `SELECT ${COLUMNS}, folder, name FROM iterations WHERE ${among} ORDER BY seq DESC LIMIT 1`;
    const row = this.#sql.first(sql, hashToBytes(hash));
    if (row === undefined) return undefined;
    const path = childOf(this.#folders.pathOf(numberAt(row, 8)), decodeName(bytesAt(row, 9)));
    return iterationRow(path, row);
  }

  hasContent(hash: Hash): boolean {
    return this.#sql.first("SELECT 1 FROM iterations WHERE hash = ? LIMIT 1", hashToBytes(hash)) !== undefined;
  }

  at(path: WorkspacePath, seq: number): IterationRow | undefined {
    const known = this.#last.at(path, seq);
    if (known !== undefined) return known;
    const folder = this.#folders.find(parentOf(path));
    return folder === undefined ? undefined : this.#atIn(folder, path, seq);
  }

  /** Returns the iteration in force at a seq for each path, in the order of the paths. */
  atEach(paths: readonly WorkspacePath[], seq: number): (IterationRow | undefined)[] {
    if (paths.length < MANY) return paths.map((path) => this.at(path, seq));
    const found = new Map<WorkspacePath, IterationRow>();
    const others = paths.filter((path) => {
      const known = this.#last.at(path, seq);
      if (known !== undefined) found.set(path, known);
      return known === undefined;
    });
    for (const [folder, inside] of Map.groupBy(others, parentOf)) {
      const id = this.#folders.find(folder);
      if (id !== undefined) this.#readFolder(found, { id, seq, wanted: inside });
    }
    return paths.map((path) => found.get(path));
  }

  /**
   * Finds the iterations of the wanted paths in one folder. Reads ranges of names as long as few other rows lie between
   * the wanted rows. Then reads the remaining paths one by one.
   */
  #readFolder(
    found: Map<WorkspacePath, IterationRow>,
    { id, seq, wanted }: { readonly id: number; readonly seq: number; readonly wanted: readonly WorkspacePath[] },
  ): void {
    let rest = wanted.length < SOME_IN_FOLDER ? wanted : wanted.toSorted(comparePaths);
    while (rest.length >= SOME_IN_FOLDER) {
      const { rows, isAnswered } = this.#between(id, seq, rest);
      const left: WorkspacePath[] = [];
      for (const path of rest) {
        const name = nameOf(path);
        const row = rows.get(name);
        if (!isAnswered(name)) left.push(path);
        else if (row !== undefined) found.set(path, iterationRow(path, row));
      }
      const isSlow = left.length > rest.length / 2;
      rest = left;
      if (isSlow) break;
    }
    for (const path of rest) {
      const row = this.#atIn(id, path, seq);
      if (row !== undefined) found.set(path, row);
    }
  }

  /**
   * Reads one page of the rows from the first to the last wanted name. `wanted`: sorted by name. `isAnswered` returns
   * true for a name if the page has all rows of that name.
   */
  #between(
    folder: number,
    seq: number,
    wanted: readonly WorkspacePath[],
  ): { readonly rows: ReadonlyMap<string, Row>; readonly isAnswered: (name: string) => boolean } {
    const limit = 2 ** Math.ceil(Math.log2(wanted.length * SPARE_ROWS));
    const sql = `SELECT ${COLUMNS}, name FROM iterations
      WHERE folder = ? AND name BETWEEN ? AND ? AND seq <= ? ORDER BY name, seq LIMIT ${limit}`;
    const [first, last] = [nameOf(wanted[0] ?? ROOT), nameOf(wanted.at(-1) ?? ROOT)];
    const page = this.#sql.all(sql, folder, pathToBytes(first), pathToBytes(last), seq);
    const rows = new Map<string, Row>();
    let end = "";
    for (const row of page) rows.set((end = decodeName(bytesAt(row, 8))), row);
    // The last name on a full page may have later rows.
    const isWhole = page.length < limit;
    return { rows, isAnswered: (name) => isWhole || compareNames(name, end) < 0 };
  }

  #atIn(folder: number, path: WorkspacePath, seq: number): IterationRow | undefined {
    const sql = `SELECT ${COLUMNS} FROM iterations WHERE folder = ? AND name = ? AND seq <= ? ORDER BY seq DESC LIMIT 1`;
    const row = this.#sql.first(sql, folder, pathToBytes(nameOf(path)), seq);
    return row === undefined ? undefined : iterationRow(path, row);
  }

  children(folder: WorkspacePath, seq: number): IterationRow[] {
    const id = this.#folders.find(folder);
    if (id === undefined) return [];
    return Array.from(this.entriesIn(id, seq), ({ name, row }) => iterationRow(childOf(folder, name), row));
  }

  /**
   * Yields the rows of the entries directly in a folder at a seq, sorted by name, without deletions. Starts after the
   * name `behind`.
   */
  *entriesIn(folder: number, seq: number, behind: Buffer = NONE): Generator<NamedRow> {
    // If a query has a single `max()`, SQLite takes the other columns from the row with the maximum.
    const sql = `SELECT max(seq), iteration, kind, mode, size, mtime, mtime_ns, ${HASH}, name FROM iterations
      WHERE folder = ? AND name > ? AND seq <= ? GROUP BY name ORDER BY name LIMIT `;
    let after = behind;
    for (let page = FIRST_PAGE; ; page = PAGE) {
      const rows = this.#sql.all(sql + page, folder, after, seq);
      for (const row of rows) {
        after = bytesAt(row, 8);
        if (row[2] !== DELETED) yield { name: decodeName(after), row };
      }
      if (rows.length < page) return;
    }
  }

  /** Returns a function like `entriesIn`, for callers that read one folder after the other. */
  entriesAhead(seq: number): (folder: number) => Iterable<NamedRow> {
    const sql = `SELECT max(seq), iteration, kind, mode, size, mtime, mtime_ns, ${HASH}, CAST(name AS TEXT), folder FROM iterations
      WHERE folder >= ? AND seq <= ? GROUP BY folder, name ORDER BY folder, name LIMIT `;
    const ahead = new ReadAhead({ from: (folder, limit) => this.#sql.all(sql + limit, folder, seq), folderAt: 9 });
    return (folder) => namedRows(ahead.of(folder), 8)?.filter(isPresent) ?? this.entriesIn(folder, seq);
  }

  /**
   * Yields the folders directly in a folder as `entriesIn` yields entries, but regardless of a seq. Each row begins
   * with the number of the folder that the row names.
   */
  *foldersIn(folder: number, behind: Buffer = NONE): Generator<NamedRow> {
    const sql = "SELECT id, name FROM folders WHERE parent = ? AND name > ? ORDER BY name LIMIT ";
    let after = behind;
    for (let page = FIRST_PAGE; ; page = PAGE) {
      const rows = this.#sql.all(sql + page, folder, after);
      for (const row of rows) {
        after = bytesAt(row, 1);
        yield { name: decodeName(after), row };
      }
      if (rows.length < page) return;
    }
  }

  /** Returns a function like `foldersIn`, for callers that read one folder after the other. */
  foldersAhead(): (folder: number) => Iterable<NamedRow> {
    const sql = "SELECT id, CAST(name AS TEXT), parent FROM folders WHERE parent >= ? ORDER BY parent, name LIMIT ";
    const ahead = new ReadAhead({ from: (folder, limit) => this.#sql.all(sql + limit, folder), folderAt: 2 });
    return (folder) => namedRows(ahead.of(folder), 1) ?? this.foldersIn(folder);
  }

  /** Returns the paths with an iteration in `after < seq <= upTo`, in any order. */
  touched(after: number, upTo: number): WorkspacePath[] {
    return this.#paths("SELECT DISTINCT folder, name FROM iterations WHERE seq > ? AND seq <= ?", after, upTo);
  }

  /** Returns the page of rows that follows a place, sorted by seq, up to the seq `upTo`. */
  pageBySeq({ seq, folder, name }: RowPlace, upTo: number): RowPage {
    const sql = `SELECT ${COLUMNS}, folder, name FROM iterations
      WHERE (seq, folder, name) > (?, ?, ?) AND seq <= ? ORDER BY seq, folder, name LIMIT ${PAGE}`;
    const found = this.#sql.all(sql, seq, folder, name, upTo);
    const rows = found.map((row) => {
      const path = childOf(this.#folders.pathOf(numberAt(row, 8)), decodeName(bytesAt(row, 9)));
      return iterationRow(path, row);
    });
    const last = found.length < PAGE ? undefined : found.at(-1);
    if (last === undefined) return { rows, end: undefined };
    return { rows, end: { seq: numberAt(last, 0), folder: numberAt(last, 8), name: bytesAt(last, 9) } };
  }

  /** Returns the paths whose last component is, or with `isPart` contains, `name`, in any order. */
  named(name: string, isPart: boolean): WorkspacePath[] {
    const where = isPart ? "instr(lower(name), lower(?)) > 0" : "name = ?";
    return this.#paths(`SELECT DISTINCT folder, name FROM iterations WHERE ${where}`, pathToBytes(name));
  }

  /** Returns the paths with an iteration of a protected file, in any order. */
  protected(): WorkspacePath[] {
    return this.#paths(`SELECT DISTINCT folder, name FROM iterations WHERE kind = ${PROTECTED}`);
  }

  #paths(sql: string, ...cells: readonly (number | Buffer)[]): WorkspacePath[] {
    const rows = this.#sql.all(sql, ...cells);
    return rows.map((row) => childOf(this.#folders.pathOf(numberAt(row, 0)), decodeName(bytesAt(row, 1))));
  }
}

/**
 * The minimum number of most recently put paths that the cache holds; the maximum is twice this number. This is enough
 * for a large commit.
 */
const MOST_LAST_ROWS = 16_384;

interface Last {
  readonly row: IterationRow;
  /** The iteration before `row`; `undefined` if that iteration does not exist or was not cached. */
  readonly before: IterationRow | undefined;
}

/**
 * Caches the last iterations of the most recently recorded paths, because an operation reads these iterations
 * repeatedly. Every iteration that is added to the table must also be put here. The cache must be cleared whenever
 * another connection may have added rows.
 */
export class LastRows {
  readonly #rows = new RecentMap<WorkspacePath, Last>(MOST_LAST_ROWS);

  put({ path, seq, iteration, entry }: IterationRow): void {
    const before = this.#rows.get(path)?.row;
    // The rows of this path do not come in the order of events, so the cache cannot know which of them is the last.
    if (before !== undefined && before.seq >= seq) this.#rows.delete(path);
    else this.#rows.put(path, { row: { path, seq, iteration, entry: entry && { ...entry, path } }, before });
  }

  /** Returns the iteration of a path in force at a seq; `undefined` if that iteration is not cached. */
  at(path: WorkspacePath, seq: number): IterationRow | undefined {
    const last = this.#rows.get(path);
    if (last === undefined || last.row.seq <= seq) return last?.row;
    return last.before !== undefined && last.before.seq <= seq ? last.before : undefined;
  }

  forget(): void {
    this.#rows.clear();
  }
}

/** Queries a table that is ordered by folder number. */
interface FolderRows {
  /** Returns at most `limit` rows of this folder and of the folders with greater numbers. */
  readonly from: (folder: number, limit: number) => readonly Row[];
  /** The position of the folder's number in a row. */
  readonly folderAt: number;
}

/**
 * The number of folders that are queried separately before the first page is read. Most walks are so short that no page
 * pays.
 */
const SINGLES = 8;
/**
 * The maximum number of rows of the first page. Each further page can have four times as many rows, up to `MOST_ROWS`.
 * After a page that was not worth reading, the maximum is this number again.
 */
const LEAST_ROWS = 128;
const MOST_ROWS = 2_048;

/**
 * The minimum number of folders whose rows must be taken from a page. If fewer are taken, the page was not worth
 * reading.
 */
const WORTH = 4;

/**
 * Reads the rows of one folder after the other. Folders that were recorded together have consecutive numbers. A walk
 * therefore asks for nearly all folders in the order of the table, and one query (a page) gives the rows of hundreds of
 * folders. If the folders come in another order, each folder is queried separately, and pages are tried less and less
 * often. Keeps one page in memory.
 */
class ReadAhead {
  readonly #rows: FolderRows;
  /**
   * Maps each folder of the page to its rows. The rows of the folder `#end` may be incomplete, so the page does not
   * cover that folder.
   */
  readonly #page = new Map<number, Row[]>();
  /** The page covers the folders `#first` to `#end - 1`. A covered folder without rows has none in the table. */
  #first = 0;
  #end = 0;
  /** The number of folders whose rows were taken from the page so far. */
  #answered = WORTH;
  /** The maximum number of rows of the next page. */
  #limit = LEAST_ROWS;
  /** The number of folders that are still queried separately before the next page is read. */
  #singles = SINGLES;
  /**
   * The value to which `#singles` was set after the last page that was not worth reading. This value doubles with each
   * such page.
   */
  #pause = SINGLES;

  constructor(rows: FolderRows) {
    this.#rows = rows;
  }

  /** Returns the rows of a folder; `undefined` if the folder must be queried separately. */
  of(folder: number): readonly Row[] | undefined {
    if (!this.#covers(folder) && this.#mayRead()) this.#readFrom(folder);
    if (!this.#covers(folder)) return undefined;
    this.#answered += 1;
    return this.#page.get(folder) ?? [];
  }

  #covers(folder: number): boolean {
    return folder >= this.#first && folder < this.#end;
  }

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
