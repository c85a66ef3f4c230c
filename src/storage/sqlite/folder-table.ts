import {
  childOf,
  decodeName,
  nameOf,
  nodeAbove,
  pathToBytes,
  ROOT,
  type WorkspacePath,
} from "../../core/values/path.ts";
import { bytesAt, DamagedCell, numberAt, type Statements } from "./statements.ts";

const ROOT_ID = 1;
/** The maximum number of cached folder numbers, and of cached folder paths. A full cache is cleared. */
const CACHED = 20_000;

/** The table that gives each folder a number. Rows of other tables refer to a folder by its number. */
export class FolderTable {
  readonly #sql: Statements;
  readonly #ids = new Map<WorkspacePath, number>();
  readonly #paths = new Map<number, WorkspacePath>();

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /**
   * Clears the cache. Must be called after a rollback and after a reset by another process, because rows may be gone.
   */
  forget(): void {
    this.#ids.clear();
    this.#paths.clear();
  }

  /** Returns the number of a folder; `undefined` if nothing was ever recorded beneath the folder. */
  find(folder: WorkspacePath): number | undefined {
    return this.#walk(folder, false);
  }

  /** Returns the number of a folder. Assigns a number if the folder has none. Requires a transaction. */
  ensure(folder: WorkspacePath): number {
    const id = this.#walk(folder, true);
    if (id === undefined) throw new DamagedCell("a folder that was just added is missing");
    return id;
  }

  /** Returns the path of the folder with this number. Throws `DamagedCell` if no folder has the number. */
  pathOf(id: number): WorkspacePath {
    const pending = new Map<number, string>();
    let at = id;
    let path = this.#known(at);
    while (path === undefined) {
      const row = this.#sql.first("SELECT parent, name FROM folders WHERE id = ?", at);
      if (row === undefined) throw new DamagedCell(`folder ${at} is missing`);
      if (pending.has(at)) throw new DamagedCell(`folder ${at} is within itself`);
      pending.set(at, decodeName(bytesAt(row, 1)));
      at = numberAt(row, 0);
      path = this.#known(at);
    }
    for (const [child, name] of [...pending].reverse()) {
      path = childOf(path, name);
      if (this.#paths.size >= CACHED) this.#paths.clear();
      this.#paths.set(child, path);
    }
    return path;
  }

  /** True if the row of the top folder exists and is intact. No other code reads that row. */
  hasTop(): boolean {
    const row = this.#sql.first("SELECT parent, length(name) FROM folders WHERE id = ?", ROOT_ID);
    return row !== undefined && numberAt(row, 0) === 0 && numberAt(row, 1) === 0;
  }

  #known(id: number): WorkspacePath | undefined {
    return id === ROOT_ID ? ROOT : this.#paths.get(id);
  }

  /**
   * Returns a folder's number. Walks down to the folder, from its nearest ancestor whose number is cached. `add`: adds
   * missing folders.
   */
  #walk(folder: WorkspacePath, add: boolean): number | undefined {
    const pending: WorkspacePath[] = [];
    let at = folder;
    let id = this.#knownId(at);
    while (id === undefined) {
      pending.push(at);
      at = nodeAbove(at) ?? ROOT;
      id = this.#knownId(at);
    }
    for (const path of pending.reverse()) {
      id = this.#child(id, pathToBytes(nameOf(path)), add);
      if (id === undefined) return undefined;
      if (this.#ids.size >= CACHED) this.#ids.clear();
      this.#ids.set(path, id);
    }
    return id;
  }

  #knownId(folder: WorkspacePath): number | undefined {
    return folder === ROOT ? ROOT_ID : this.#ids.get(folder);
  }

  #child(parent: number, name: Buffer, add: boolean): number | undefined {
    const row = this.#sql.first("SELECT id FROM folders WHERE parent = ? AND name = ?", parent, name);
    if (row !== undefined) return numberAt(row, 0);
    return add ? this.#sql.insert("INSERT INTO folders (parent, name) VALUES (?, ?)", parent, name) : undefined;
  }
}
