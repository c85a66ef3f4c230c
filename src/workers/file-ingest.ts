import { entryTime } from "../core/values/entry.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { Ingest, IngestRun, IngestOptions, IngestResult } from "../engine/log/context.ts";
import { sha256, type Hash } from "../core/values/hash.ts";
import type { StableSink } from "../worktree/files/read-stable.ts";
import { hashingSink, ingestBatch, storingSink, type IngestColumns } from "./ingest-job.ts";
import { splitRoot, type WorkspacePath } from "../core/values/path.ts";
import {
  besideDatabase,
  databaseOf,
  oneUnitWith,
  SHARED_MEMORY_SUFFIX,
  UNIT_SUFFIXES,
  unitOf,
} from "../core/tree/sqlite-unit.ts";
import { ConfinedFs } from "../worktree/files/confined-fs.ts";
import { isRacy } from "../worktree/files/same-stat.ts";
import { isDatabaseFile, readSqliteUnit, type UnitPart, type UnitRead } from "../worktree/files/read-sqlite.ts";
import type { ScannedPath, TrackedRoot } from "../worktree/worktree.ts";
import { addAll } from "../util/long-lists.ts";
import type { Disk } from "../disk/disk.ts";
import type { BlobIntake, BlobSink, ThreadSinks } from "../storage/blob-intake.ts";
import { IngestPool, poolSize, toBatch, toResults } from "./ingest-pool.ts";

/**
 * The maximum size, in bytes, of a capture that is read into memory before a sink is opened. Often all contents are
 * already stored, and no sink is needed.
 */
const HELD_BYTES = 1024 * 1024;

/**
 * The maximum number of bytes that the main thread reads. For more bytes, starting worker threads is worth its cost.
 */
const INLINE_BYTES = 16 * 1024 * 1024;
/** The maximum number of paths that the main thread reads. */
const INLINE_PATHS = 1_500;

interface FileIngestOptions {
  readonly disk: Disk;
  readonly intake: BlobIntake;
  readonly roots: readonly TrackedRoot[];
  /** True if worker threads may be used. They can be used only on a real disk. */
  readonly threads: boolean;
}

/**
 * Reads files from folders on a disk into a store. Reads small captures in this thread, and large captures in worker
 * threads.
 */
export class FileIngest implements Ingest {
  readonly #options: FileIngestOptions;
  /**
   * The folders of the roots. They are kept for all runs, because a new `ConfinedFs` may have to probe its platform
   * again.
   */
  readonly #folders: readonly ConfinedFs[];

  constructor(options: FileIngestOptions) {
    this.#options = options;
    this.#folders = options.roots.map((root) => new ConfinedFs(options.disk, root.folder));
  }

  begin(given: IngestOptions): IngestRun {
    return new FileIngestRun(this.#options, this.#folders, given);
  }
}

class FileIngestRun implements IngestRun {
  readonly #options: FileIngestOptions;
  readonly #folders: readonly ConfinedFs[];
  readonly #given: IngestOptions;
  /**
   * The caller's `onResult`. The `onResult` of `#given` passes results on to the caller's `onResult`. Only the result
   * of a database is held back, until `LiveUnits` has decided whether to read the database again, together with its
   * companion files.
   */
  readonly #onResult: IngestOptions["onResult"];
  readonly #units: LiveUnits;
  #waiting: ScannedPath[] = [];
  #bytes = 0;
  #pool: Promise<IngestPool> | undefined;
  #sinks: ThreadSinks | undefined;
  #onProgress: ((bytes: number) => void) | undefined;
  /** The number of bytes that were read so far, in all files. */
  #doneBytes = 0;

  constructor(options: FileIngestOptions, folders: readonly ConfinedFs[], given: IngestOptions) {
    this.#options = options;
    this.#folders = folders;
    this.#units = new LiveUnits({ roots: options.roots, folders }, given);
    const onResult: IngestOptions["onResult"] = (result) => this.#units.holds(result) || given.onResult(result);
    this.#given = { ...given, onResult };
    this.#onResult = given.onResult;
  }

  async add(scanned: readonly ScannedPath[]): Promise<void> {
    const batch = scanned.filter((one) => !this.#units.putsAside(one));
    if (this.#pool !== undefined) {
      const pool = await this.#pool;
      pool.add(batch);
      return pool.whenRoom();
    }
    for (const one of batch) {
      if (one.stat.kind === "dir") continue;
      this.#waiting.push(one);
      this.#bytes += one.stat.size;
    }
    const large = this.#bytes > INLINE_BYTES || this.#waiting.length > INLINE_PATHS;
    if (large && this.#mayUsePool) this.#startPool();
  }

  async finish(onProgress?: (doneBytes: number) => void): Promise<void> {
    this.#onProgress = onProgress;
    if (this.#pool === undefined) await this.#inline();
    else {
      const pool = await this.#pool;
      pool.onBytes = (bytes) => this.#tell(bytes);
      const results = await pool.finish();
      await this.#sinks?.publish(results);
      this.#release();
    }
    await this.#finishUnits();
  }

  /**
   * Reads the databases that must be read as units. Then reads the deferred files that turned out to be no companion
   * files of a database.
   */
  async #finishUnits(): Promise<void> {
    const { units, plain, results } = this.#units.sort();
    for (const result of results) this.#onResult(result);
    if (units.length > 0) {
      const read = (sink: StableSink): IngestResult[] => this.#units.read(units, sink);
      const found = this.#given.hashOnly ? read(hashingSink) : await this.#stored((sink) => read(storingSink(sink)));
      for (const result of found) this.#onResult(result);
    }
    this.#waiting = plain;
    this.#bytes = plain.reduce((sum, { stat }) => sum + stat.size, 0);
    await this.#inline();
  }

  async abandon(): Promise<void> {
    const pool = await this.#pool?.catch(() => undefined);
    await pool?.abandon();
    this.#release();
  }

  #startPool(): void {
    const first = this.#waiting;
    this.#waiting = [];
    this.#pool = this.#openPool().then((pool) => {
      pool.add(first);
      return pool;
    });
    this.#pool.catch(() => undefined);
  }

  async #openPool(): Promise<IngestPool> {
    const { intake, roots } = this.#options;
    if (!this.#given.hashOnly) this.#sinks = await intake.openThreadSinks?.(poolSize());
    return new IngestPool({
      roots,
      grants: this.#sinks?.grants,
      erased: this.#given.erased,
      onResult: this.#given.onResult,
    });
  }

  async #inline(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const read = (sink: StableSink): IngestColumns => this.#read(sink);
    const columns = this.#given.hashOnly
      ? read(hashingSink)
      : ((await this.#held(read)) ?? (await this.#stored((sink) => read(storingSink(sink)))));
    this.#tell(this.#doneBytes + columns.bytes);
    for (const result of toResults(this.#waiting, columns)) this.#given.onResult(result);
  }

  #tell(doneBytes: number): void {
    this.#doneBytes = doneBytes;
    this.#onProgress?.(doneBytes);
  }

  #read(sink: StableSink): IngestColumns {
    try {
      return ingestBatch(this.#folders, toBatch(this.#options.roots, this.#waiting), sink);
    } finally {
      for (const folder of this.#folders) folder.release();
    }
  }

  /**
   * Reads the files into memory, and opens a sink only if contents must be stored. Returns `undefined` if the contents
   * are too large for memory.
   */
  async #held(read: (sink: StableSink) => IngestColumns): Promise<IngestColumns | undefined> {
    if (this.#bytes > HELD_BYTES) return undefined;
    const held = new HeldContents((hash) => this.#isNotToStore(hash), 2 * HELD_BYTES);
    const columns = read(held);
    if (held.isTooMuch) return undefined;
    if (held.contents.size > 0) {
      await this.#stored((sink) => {
        for (const [hash, content] of held.contents) sink.put(content, hash);
      });
    }
    return columns;
  }

  async #stored<T>(fill: (sink: BlobSink) => T): Promise<T> {
    const sink = await this.#options.intake.openSink((hash) => this.#isNotToStore(hash));
    try {
      const result = fill(sink);
      await sink.finish();
      return result;
    } catch (error) {
      sink.abandon();
      throw error;
    }
  }

  #isNotToStore(hash: Hash): boolean {
    return this.#given.erased?.has(hash) === true || this.#options.intake.isSound(hash);
  }

  /**
   * True if worker threads may read the files. Worker threads that cannot store contents are used only for a run that
   * only hashes.
   */
  get #mayUsePool(): boolean {
    const { threads, intake } = this.#options;
    return threads && (this.#given.hashOnly === true || intake.openThreadSinks !== undefined);
  }

  #release(): void {
    this.#sinks?.release();
    this.#sinks = undefined;
  }
}

/** A sink that keeps small contents in memory if they are not stored yet. */
class HeldContents implements StableSink {
  readonly contents = new Map<Hash, Buffer>();
  readonly #isStored: (hash: Hash) => boolean;
  readonly #mostBytes: number;
  #bytes = 0;
  #isTooMuch = false;

  constructor(isStored: (hash: Hash) => boolean, mostBytes: number) {
    this.#isStored = isStored;
    this.#mostBytes = mostBytes;
  }

  /** True if the contents are too large for memory. In that case, `contents` lacks some of them. */
  get isTooMuch(): boolean {
    return this.#isTooMuch;
  }

  small(content: Uint8Array): Hash {
    const hash = sha256(content);
    if (this.contents.has(hash) || this.#isStored(hash)) return hash;
    this.#bytes += content.length;
    if (this.#bytes > this.#mostBytes) this.#isTooMuch = true;
    else this.contents.set(hash, Buffer.from(content));
    return hash;
  }

  large(pieces: Iterable<Uint8Array>, source: { readonly fd: number }): { readonly hash: Hash; readonly size: number } {
    this.#isTooMuch = true;
    return hashingSink.large(pieces, source);
  }
}

type FileRead = Extract<IngestResult, { readonly entry: unknown }>;

const DERIVED = "SQLite derives it from the -wal beside it";

interface UnitPlaces {
  readonly roots: readonly TrackedRoot[];
  /** The folders of the roots, in the order of the roots. */
  readonly folders: readonly ConfinedFs[];
}

type UnitOptions = Pick<IngestOptions, "known" | "maxFileSize">;

/**
 * The SQLite databases of one capture. The companion files of a database (`-wal`, `-journal`) are deferred when they
 * are scanned, and the result of the database is held back. At the end, a database that may be in use is read again, as
 * a unit with its companion files.
 */
class LiveUnits {
  readonly #places: UnitPlaces;
  readonly #given: UnitOptions;
  readonly #databases = new Map<WorkspacePath, FileRead>();
  readonly #beside = new Map<WorkspacePath, ScannedPath[]>();
  /** True once `sort` was called. From then on, no result is held back. */
  #isSorted = false;
  /** The time at which this object was made, before any file is read. */
  readonly #begunNs = BigInt(Date.now()) * 1_000_000n;

  constructor(places: UnitPlaces, given: UnitOptions) {
    this.#places = places;
    this.#given = given;
  }

  /** Defers the file if it is a companion file of a database. Returns true if it was deferred. */
  putsAside(one: ScannedPath): boolean {
    const database = one.stat.kind === "file" ? databaseOf(one.path) : undefined;
    if (database === undefined) return false;
    const beside = this.#beside.get(database) ?? [];
    this.#beside.set(database, [...beside, one]);
    return true;
  }

  /** Holds a result back if it is the result of a database. Returns true if it was held back. */
  holds(result: IngestResult): boolean {
    if (this.#isSorted || !("entry" in result) || result.isDatabase !== true) return false;
    this.#databases.set(result.path, result);
    return true;
  }

  /**
   * Returns the databases to read as units, the deferred files to read like other files, and the results that are
   * already final.
   */
  sort(): { readonly units: WorkspacePath[]; readonly plain: ScannedPath[]; readonly results: IngestResult[] } {
    this.#isSorted = true;
    const units: WorkspacePath[] = [];
    const plain: ScannedPath[] = [];
    const results: IngestResult[] = [];
    for (const database of new Set([...this.#databases.keys(), ...this.#beside.keys()])) {
      const read = this.#databases.get(database);
      const tooLarge = this.#tooLarge(database, read);
      if (tooLarge.length > 0) addAll(results, tooLarge);
      else if (this.#isUnit(database, read)) units.push(database);
      else if (read !== undefined) results.push(read);
      else {
        for (const one of this.#beside.get(database) ?? []) {
          if (one.unlessInUnit === undefined) plain.push(one);
          else results.push({ path: one.path, omission: one.unlessInUnit });
        }
      }
    }
    return { units, plain, results };
  }

  /**
   * True if the database must be read as a unit.
   *
   * - A database that was already read must be read again if it was unstable, if its times may hide a later write
   *   (`isRacy`), or if it has companion files.
   * - If the scan reported only companion files, the database must be read if the history has the database (`known`)
   *   and its file is still a database.
   */
  #isUnit(database: WorkspacePath, read: FileRead | undefined): boolean {
    const { fs, path } = this.#placeOf(database);
    if (read === undefined) return this.#given.known?.(database) === true && isDatabaseFile(fs, path);
    if (this.#beside.has(database) || read.unstable || isRacy(read.stat, this.#begunNs)) return true;
    return UNIT_SUFFIXES.some((suffix) => fs.lstat(besideDatabase(path, suffix)) !== undefined);
  }

  /**
   * Returns the omissions of a unit if one of its files is above the size limit; otherwise, an empty list. The whole
   * unit is left out, because the other files are incomplete without that file.
   */
  #tooLarge(database: WorkspacePath, read: FileRead | undefined): IngestResult[] {
    const limit = this.#given.maxFileSize?.(database) ?? 0;
    if (limit === 0) return [];
    const { fs, path } = this.#placeOf(database);
    const files = unitOf(path).flatMap((inner) => {
      const stat = fs.lstat(inner);
      return stat?.kind === "file"
        ? [{ path: `${database}${inner.slice(path.length)}` as WorkspacePath, ...stat }]
        : [];
    });
    const large = files.find(({ size }) => size > limit);
    if (large === undefined || (read === undefined && !isDatabaseFile(fs, path))) return [];
    const why = (size: number): string => `${size} bytes; the limit is ${limit}`;
    const omissions = files.map((file): IngestResult => {
      const detail = file.size > limit ? why(file.size) : oneUnitWith(large.path, why(large.size));
      return { path: file.path, omission: { path: file.path, reason: "too-large", detail } };
    });
    return [...omissions, ...this.#derived(database)];
  }

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
      // The database is gone, perhaps because another program is replacing it. The next scan finds the new file.
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
      const errno = unit.unreadable.get(suffix);
      if (errno !== undefined) results.push({ path, omission: { path, reason: "unreadable", detail: errno } });
      else results.push(part === undefined ? { path, gone: true } : partResult(path, part, unit.proved));
    }
    return [...results, ...this.#derived(database)];
  }

  #derived(database: WorkspacePath): IngestResult[] {
    const derived = (this.#beside.get(database) ?? []).filter(({ path }) => path.endsWith(SHARED_MEMORY_SUFFIX));
    return derived.map(({ path }) => ({ path, omission: { path, reason: "excluded", detail: DERIVED } }));
  }

  #placeOf(database: WorkspacePath): { readonly fs: ConfinedFs; readonly path: WorkspacePath } {
    const { root, path } = splitRoot(database);
    const fs = this.#places.folders[this.#places.roots.findIndex((tracked) => tracked.id === root)];
    if (fs === undefined) throw new RangeError(`there is no root of ${database}`);
    return { fs, path };
  }
}

function partResult(path: WorkspacePath, { stat, hash, size, moved }: UnitPart, proved: boolean): IngestResult {
  const entry = { path, kind: "file" as const, mode: stat.mode, size, ...entryTime(stat.mtimeNs), hash };
  return { path, entry, stat, unstable: !proved, ...(moved ? { isMoving: true as const } : {}) };
}

/** The ingest of a hosted workspace, whose scans find nothing to read. */
export const NO_INGEST: Ingest = {
  begin: (): IngestRun => ({
    add: async (batch) => {
      if (batch.length > 0) throw new ChronicleError("IO", "a hosted workspace has no files on a disk to read");
    },
    finish: async () => undefined,
    abandon: async () => undefined,
  }),
};
