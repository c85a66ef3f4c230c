import type { Hash } from "../core/values/hash.ts";
import type { Disk } from "../disk/disk.ts";
import type { BlobIntake, BlobSink, ThreadSinks } from "../storage/blob-intake.ts";
import type { Ingest, IngestOptions, IngestResult, IngestRun } from "../engine/log/context.ts";
import { ConfinedFs } from "../worktree/files/confined-fs.ts";
import type { StableSink } from "../worktree/files/read-stable.ts";
import type { ScannedPath, TrackedRoot } from "../worktree/worktree.ts";
import { HeldContents } from "./held-contents.ts";
import { hashingSink, ingestBatch, storingSink, type IngestColumns } from "./ingest-job.ts";
import { IngestPool, poolSize } from "./ingest-pool.ts";
import { LiveUnits } from "./live-units.ts";
import { toBatch, toResults } from "./ingest-results.ts";

/** Most bytes of unstored contents held before a lane is taken. Often everything is stored already. */
const HELD_BYTES = 1024 * 1024;
/** Most bytes read by the main thread. For more, starting workers pays. */
const INLINE_BYTES = 16 * 1024 * 1024;
const INLINE_PATHS = 1_500;

export interface FileIngestOptions {
  readonly disk: Disk;
  readonly intake: BlobIntake;
  readonly roots: readonly TrackedRoot[];
  /** True if worker threads may be used: only on a real disk. */
  readonly threads: boolean;
}

/** Reads from folders on a disk into a store: small captures in this thread, large ones in workers. */
export class FileIngest implements Ingest {
  readonly #options: FileIngestOptions;
  /** Kept, because each first determines what its platform can do. */
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
  /** Called with every final result. */
  readonly #onResult: IngestOptions["onResult"];
  readonly #units: LiveUnits;
  #waiting: ScannedPath[] = [];
  #bytes = 0;
  #pool: Promise<IngestPool> | undefined;
  #sinks: ThreadSinks | undefined;
  #onProgress: ((bytes: number) => void) | undefined;

  constructor(options: FileIngestOptions, folders: readonly ConfinedFs[], given: IngestOptions) {
    this.#options = options;
    this.#folders = folders;
    this.#units = new LiveUnits({ roots: options.roots, folders }, given.known);
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
      pool.onBytes = onProgress;
      const results = await pool.finish();
      await this.#sinks?.publish(results);
      this.#release();
    }
    await this.#finishUnits();
  }

  /** Reads databases and their companion files at the end, each database together with its companions. */
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
    this.#onProgress?.(columns.bytes);
    for (const result of toResults(this.#waiting, columns)) this.#given.onResult(result);
  }

  #read(sink: StableSink): IngestColumns {
    try {
      return ingestBatch(this.#folders, toBatch(this.#options.roots, this.#waiting), sink);
    } finally {
      for (const folder of this.#folders) folder.release();
    }
  }

  /**
   * Reads first, and opens a sink only if there is something to store. Returns `undefined` if there is too much for
   * that.
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

  /** Lets `fill` put contents into a sink, then makes them durable and visible. */
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

  /** True if it is stored or erased. */
  #isNotToStore(hash: Hash): boolean {
    return this.#given.erased?.has(hash) === true || this.#options.intake.isSound(hash);
  }

  /** Threads may only hash where they cannot store. */
  get #mayUsePool(): boolean {
    const { threads, intake } = this.#options;
    return threads && (this.#given.hashOnly === true || intake.openThreadSinks !== undefined);
  }

  #release(): void {
    this.#sinks?.release();
    this.#sinks = undefined;
  }
}
