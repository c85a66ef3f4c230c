import { DatabaseSync } from "node:sqlite";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import type { Disk } from "../../disk/disk.ts";
import { EventTable } from "./event-table.ts";
import { FolderTable } from "./folder-table.ts";
import { prepareIndex } from "./index-schema.ts";
import { IterationTable } from "./iteration-table.ts";
import { RemoteWorkTable } from "./remote-work-table.ts";
import { fromSqlite } from "./sqlite-error.ts";
import { DamagedCell, Statements } from "./statements.ts";

/**
 * The time to wait for another process's write, in milliseconds. Rarely needed, because writers hold the workspace's
 * lock.
 */
const BUSY_MS = 5_000;

/**
 * A database of this connection alone: in memory, or, if it grows large, in a nameless file in the folder for temporary
 * files.
 */
export const TEMPORARY = "";

/** One connection to an index, with its tables. */
export class IndexConnection {
  readonly db: DatabaseSync;
  readonly sql: Statements;
  readonly folders: FolderTable;
  readonly iterations: IterationTable;
  readonly events: EventTable;
  readonly remoteWork: RemoteWorkTable;

  /**
   * Opens the file, or makes it (0600) with empty tables; or opens `TEMPORARY`. Throws `INTEGRITY_VIOLATION` if the
   * file is not a sound index.
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
  }

  /** Returns a temporary connection with the file's present content. */
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

/** The place of an index. */
interface IndexPlace {
  readonly disk: Disk;
  readonly path: string;
}

/**
 * Converts any error of an index in this file to a `ChronicleError`. Cells with values that were never written become
 * `INTEGRITY_VIOLATION`.
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
