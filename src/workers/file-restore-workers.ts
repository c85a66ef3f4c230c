import type { Disk, FileStat } from "../disk/disk.ts";
import type { OpenedBlobs } from "../storage/storage-backends.ts";
import type { BlobPlaces } from "../storage/blob-index.ts";
import { ConfinedFs } from "../worktree/files/confined-fs.ts";
import type { WorkspacePath } from "../core/values/path.ts";
import type { RestoreWorkers, StageFile } from "../worktree/apply/restore-workers.ts";
import { addAll } from "../util/long-lists.ts";
import { KeptStagePool, type StagePool } from "./stage-pool.ts";
import { statOfStaged, toStageBatch, type PlacedFile } from "./stage-job.ts";

/**
 * The minimum number of files, and the minimum total size in bytes, for which threads are started. Threads are started
 * if one of the two is reached. Below both limits, the caller writes the files itself.
 */
const LEAST_FILES = 1_500;
const LEAST_BYTES = 32 * 1024 * 1024;
/** The minimum number of files for which threads that are already running are used. */
const LEAST_FOR_KEPT = 256;
/**
 * The number of files, and the total size in bytes, at which a batch is full. A batch may grow beyond these limits to
 * the end of a block, because a block that is split between two batches would be unpacked twice.
 */
const BATCH_FILES = 256;
const BATCH_BYTES = 2 * 1024 * 1024;

export interface FileRestoreWorkersOptions {
  readonly home: string;
  readonly disk: Disk;
  readonly placesOf: NonNullable<OpenedBlobs["placesOf"]>;
  /** Keeps threads for the next call of `write`. Default: a `KeptStagePool` for this object alone. */
  readonly pools?: KeptStagePool;
}

/**
 * Worker threads that unpack and check contents of packs, write these contents to files, and remove files, in batches.
 * The caller writes large contents, because they are not in packs.
 */
export class FileRestoreWorkers implements RestoreWorkers {
  readonly #options: FileRestoreWorkersOptions;
  readonly #pools: KeptStagePool;

  constructor(options: FileRestoreWorkersOptions) {
    this.#options = options;
    this.#pools = options.pools ?? new KeptStagePool(options.home);
  }

  async write(
    base: string,
    files: readonly StageFile[],
    onWritten?: (files: number) => void,
  ): Promise<readonly (FileStat | undefined)[]> {
    const stats = Array.from(files, (): FileStat | undefined => undefined);
    if (!isWorthIt(files, this.#pools.isKept(base) ? LEAST_FOR_KEPT : LEAST_FILES)) return stats;
    // The pool is taken first, so that its threads start while the places are looked up.
    const pool = this.#pools.take(base);
    let unknown: readonly StageFile[];
    try {
      unknown = await this.#writeAll(pool, files, { stats, onWritten });
    } finally {
      await this.#pools.giveBack(base, pool);
    }
    if (unknown.length > 0) this.#clear(base, unknown);
    return stats;
  }

  async remove(base: string, paths: readonly WorkspacePath[]): Promise<boolean> {
    if (paths.length < LEAST_FOR_KEPT || !this.#pools.isKept(base)) return false;
    const pool = this.#pools.take(base);
    const middle = Math.ceil(paths.length / 2);
    try {
      // Make only two batches, so that no batch has to wait until this thread handles an answer: this thread may be
      // busy.
      const done = [paths.slice(0, middle), paths.slice(middle)].map((part) => pool.remove(part));
      return (await Promise.all(done)).every(Boolean);
    } finally {
      await this.#pools.giveBack(base, pool);
    }
  }

  /** Fills in the stats of written files. Returns the files whose outcome is unknown because a thread has failed. */
  async #writeAll(
    pool: StagePool,
    files: readonly StageFile[],
    { stats, onWritten }: Written,
  ): Promise<readonly StageFile[]> {
    const { packs, places } = await this.#options.placesOf(files.map(({ hash }) => hash));
    const unknown: StageFile[] = [];
    const work = batchesOf(files, places).map(async (rows) => {
      const placed = rows.map((row) => row.placed);
      const columns = await pool.run(toStageBatch(placed, packs));
      if (columns === undefined)
        addAll(
          unknown,
          placed.map(({ file }) => file),
        );
      else rows.forEach(({ at }, row) => (stats[at] = statOfStaged(columns, row)));
      onWritten?.(rows.filter(({ at }) => stats[at] !== undefined).length);
    });
    await Promise.all(work);
    return unknown;
  }

  /** Removes files that a failed thread may have written in part. */
  #clear(base: string, files: readonly StageFile[]): void {
    using fs = new ConfinedFs(this.#options.disk, base);
    for (const { path } of files) if (fs.lstat(path)?.kind === "file") fs.unlink(path);
  }
}

interface Written {
  readonly stats: (FileStat | undefined)[];
  readonly onWritten: ((files: number) => void) | undefined;
}

function isWorthIt(files: readonly StageFile[], least: number): boolean {
  if (files.length >= least) return true;
  return files.reduce((bytes, { size }) => bytes + size, 0) >= LEAST_BYTES;
}

interface Row {
  /** The index of the file in the caller's list. */
  readonly at: number;
  readonly placed: PlacedFile;
}

/**
 * Returns the files in pack order, in batches of about the same size. Leaves out a file if its content is not in a
 * pack, or if the size of the content in the pack differs from the size of the file.
 */
function batchesOf(files: readonly StageFile[], places: BlobPlaces["places"]): Row[][] {
  const rows: Row[] = [];
  files.forEach((file, at) => {
    const place = places[at];
    if (place?.kind === "pack" && place.length === file.size) rows.push({ at, placed: { file, place } });
  });
  rows.sort((a, b) => byPlace(a.placed, b.placed));
  const batches: Row[][] = [];
  let bytes = 0;
  for (const [i, row] of rows.entries()) {
    const last = batches.at(-1);
    const isFull = last === undefined || last.length >= BATCH_FILES || bytes >= BATCH_BYTES;
    if (last === undefined || (isFull && !isSameBlock(rows[i - 1]?.placed, row.placed))) {
      batches.push([row]);
      bytes = 0;
    } else last.push(row);
    bytes += row.placed.place.length;
  }
  return batches;
}

function byPlace({ place: a }: PlacedFile, { place: b }: PlacedFile): number {
  return a.pack - b.pack || a.block - b.block || a.at - b.at;
}

function isSameBlock(a: PlacedFile | undefined, b: PlacedFile): boolean {
  return a?.place.pack === b.place.pack && a.place.block === b.place.block;
}
