import { splitRoot, type WorkspacePath } from "../core/values/path.ts";
import { besideDatabase, databaseOf, SHARED_MEMORY_SUFFIX, UNIT_SUFFIXES } from "../core/tree/sqlite-unit.ts";
import type { IngestOptions, IngestResult } from "../engine/log/context.ts";
import type { ConfinedFs } from "../worktree/files/confined-fs.ts";
import { isDatabaseFile, readSqliteUnit, type UnitPart, type UnitRead } from "../worktree/files/read-sqlite.ts";
import type { StableSink } from "../worktree/files/read-stable.ts";
import type { ScannedPath, TrackedRoot } from "../worktree/worktree.ts";
import { addAll } from "../util/long-lists.ts";

/** A file that was read. */
type FileRead = Extract<IngestResult, { readonly entry: unknown }>;

/** A file that was modified within this many ns before it was read may have been changed unnoticed during the read. */
const RECENT_NS = 2_000_000_000n;

const DERIVED = "SQLite derives it from the -wal beside it";

/** The roots of a capture, with their opened folders. */
export interface UnitPlaces {
  readonly roots: readonly TrackedRoot[];
  /** One for each root. */
  readonly folders: readonly ConfinedFs[];
}

/**
 * The SQLite databases of one capture. Companion files of a database are deferred when they are scanned, and a
 * database's result is held back. At the end each database that may be in use is read once more, together with its
 * companion files.
 */
export class LiveUnits {
  readonly #places: UnitPlaces;
  readonly #known: IngestOptions["known"];
  readonly #databases = new Map<WorkspacePath, FileRead>();
  readonly #beside = new Map<WorkspacePath, ScannedPath[]>();

  constructor(places: UnitPlaces, known: IngestOptions["known"]) {
    this.#places = places;
    this.#known = known;
  }

  /** Defers a file that may belong to a database by its name. Returns true if it did. */
  putsAside(one: ScannedPath): boolean {
    const database = one.stat.kind === "file" ? databaseOf(one.path) : undefined;
    if (database === undefined) return false;
    const beside = this.#beside.get(database) ?? [];
    this.#beside.set(database, [...beside, one]);
    return true;
  }

  /** Holds back the result of a database until the end. Returns true if it did. */
  holds(result: IngestResult): boolean {
    if (!("entry" in result) || result.isDatabase !== true) return false;
    this.#databases.set(result.path, result);
    return true;
  }

  /** Returns the units to read now, the files to read like any other, and the results that are already final. */
  sort(): { readonly units: WorkspacePath[]; readonly plain: ScannedPath[]; readonly results: IngestResult[] } {
    const units: WorkspacePath[] = [];
    const plain: ScannedPath[] = [];
    const results: IngestResult[] = [];
    for (const database of new Set([...this.#databases.keys(), ...this.#beside.keys()])) {
      const read = this.#databases.get(database);
      if (this.#isUnit(database, read)) units.push(database);
      else if (read === undefined) addAll(plain, this.#beside.get(database) ?? []);
      else results.push(read);
    }
    return { units, plain, results };
  }

  /**
   * True if the database must be read as a unit. One without companion files that was not modified lately was read like
   * any file.
   */
  #isUnit(database: WorkspacePath, read: FileRead | undefined): boolean {
    const { fs, path } = this.#placeOf(database);
    if (read === undefined) return this.#known?.(database) === true && isDatabaseFile(fs, path);
    if (this.#beside.has(database) || read.unstable || isRecent(read)) return true;
    return UNIT_SUFFIXES.some((suffix) => fs.lstat(besideDatabase(path, suffix)) !== undefined);
  }

  /** Reads units into a sink. */
  read(units: readonly WorkspacePath[], sink: StableSink): IngestResult[] {
    try {
      return units.flatMap((database) => {
        const { fs, path } = this.#placeOf(database);
        return this.#resultsOf(database, readSqliteUnit(fs, path, sink));
      });
    } finally {
      for (const fs of this.#places.folders) fs.release();
    }
  }

  #resultsOf(database: WorkspacePath, unit: UnitRead | undefined): IngestResult[] {
    if (unit === undefined) {
      // Another program is replacing it: the next scan finds the new one.
      const left = [database, ...(this.#beside.get(database) ?? []).map(({ path }) => path)];
      return left.map((path) => ({
        path,
        omission: { path, reason: "unstable", detail: "it was replaced meanwhile" },
      }));
    }
    const results: IngestResult[] = [partResult(database, unit.database, unit.proved)];
    for (const suffix of UNIT_SUFFIXES) {
      const path = besideDatabase(database, suffix);
      const part = unit.beside.get(suffix);
      results.push(part === undefined ? { path, gone: true } : partResult(path, part, unit.proved));
    }
    for (const { path } of this.#beside.get(database) ?? []) {
      if (path.endsWith(SHARED_MEMORY_SUFFIX))
        results.push({ path, omission: { path, reason: "excluded", detail: DERIVED } });
    }
    return results;
  }

  #placeOf(database: WorkspacePath): { readonly fs: ConfinedFs; readonly path: WorkspacePath } {
    const { root, path } = splitRoot(database);
    const fs = this.#places.folders[this.#places.roots.findIndex((tracked) => tracked.id === root)];
    if (fs === undefined) throw new RangeError(`there is no root of ${database}`);
    return { fs, path };
  }
}

function isRecent({ stat }: FileRead): boolean {
  const newest = stat.mtimeNs > stat.ctimeNs ? stat.mtimeNs : stat.ctimeNs;
  return BigInt(Date.now()) * 1_000_000n - newest < RECENT_NS;
}

function partResult(path: WorkspacePath, { stat, hash, size, moved }: UnitPart, proved: boolean): IngestResult {
  const mtimeMs = Number(stat.mtimeNs / 1_000_000n);
  const entry = { path, kind: "file" as const, mode: stat.mode, size, mtimeMs, hash };
  return { path, entry, stat, unstable: !proved, ...(moved ? { isMoving: true as const } : {}) };
}
