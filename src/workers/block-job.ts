import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import { foldersAbove, parentOf, type WorkspacePath } from "../core/values/path.ts";
import type { FileStat } from "../disk/disk.ts";
import { checkBlock, openBlock, splitBlocks, type BlobBlock } from "../storage/blob-block.ts";
import { freeBytes } from "../util/free-bytes.ts";
import type { ConfinedFs, OpenedFile } from "../worktree/files/confined-fs.ts";
import { newStats, putStat } from "./stage-job.ts";

// A worker thread runs this code to check blocks, and to write new files from the contents of the blocks.

/** Blocks, and the files to write from the contents of these blocks. The fields are columns, as in a `StageBatch`. */
export interface BlockBatch {
  readonly kind: "blocks";
  /** The sender must not use these bytes afterwards, because their memory may be transferred to a thread. */
  readonly blocks: Uint8Array;
  readonly paths: readonly string[];
  /**
   * For each file, in the order of the blocks: the index of its block, the index of its content in the block, and its
   * mode.
   */
  readonly numbers: Float64Array;
  /** The modes of the folders above the files. Missing folders are made. */
  readonly folders: ReadonlyMap<string, number>;
}

export interface BlockColumns {
  /** The fault of each block; `undefined` if the block is sound. No file is written from a faulty block. */
  readonly wrong: readonly (string | undefined)[];
  /** For each file: 1 if the file was written, otherwise 0. */
  readonly done: Uint8Array;
  /** The stats of the written files, as in `StageColumns`. */
  readonly stats: BigInt64Array;
}

const NUMBERS = 3;

/** A file, with the indexes of its block and of its content in that block. */
export interface BlockFile {
  readonly path: WorkspacePath;
  readonly mode: number;
  readonly block: number;
  readonly entry: number;
}

export function toBlockBatch(
  blocks: readonly BlobBlock[],
  files: readonly BlockFile[],
  modes: ReadonlyMap<WorkspacePath, number>,
): BlockBatch {
  const numbers = new Float64Array(files.length * NUMBERS);
  const folders = new Map<string, number>();
  files.forEach(({ path, mode, block, entry }, i) => {
    numbers.set([block, entry, mode], i * NUMBERS);
    for (const folder of foldersAbove(path)) {
      if (folders.has(folder)) break;
      folders.set(folder, modes.get(folder) ?? FOLDER_MODE);
    }
  });
  const bytes = Buffer.concat(blocks.map((block) => block.bytes));
  return { kind: "blocks", blocks: bytes, paths: files.map(({ path }) => path), numbers, folders };
}

const FOLDER_MODE = 0o700;

/**
 * Checks the blocks, and writes the files of sound blocks. A file that cannot be written is skipped, and no part of it
 * is left.
 */
export function checkBlocks(fs: ConfinedFs, batch: BlockBatch): BlockColumns {
  const done = new Uint8Array(batch.paths.length);
  const stats = newStats(batch.paths.length);
  let row = 0;
  const wrong = splitBlocks(batch.blocks).map((block, at) => {
    const rows: number[] = [];
    for (; batch.numbers[row * NUMBERS] === at; row += 1) rows.push(row);
    return reasonOf(() => {
      if (rows.length === 0) return checkBlock(block);
      const raw = openBlock(block);
      for (const one of rows) {
        const stat = tryWrite(fs, batch, { row: one, block, raw });
        if (stat === undefined) continue;
        done[one] = 1;
        putStat(stats, one, stat);
      }
      // The contents of an uncompressed block are part of the input and must not be freed.
      if (block.head?.codec !== "raw") freeBytes(raw);
    });
  });
  fs.release();
  return { wrong, done, stats };
}

function reasonOf(look: () => void): string | undefined {
  try {
    look();
    return undefined;
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "INTEGRITY_VIOLATION") return error.message;
    throw error;
  }
}

interface Writing {
  readonly row: number;
  readonly block: BlobBlock;
  readonly raw: Buffer;
}

function tryWrite(
  fs: ConfinedFs,
  { paths, numbers, folders }: BlockBatch,
  { row, block, raw }: Writing,
): FileStat | undefined {
  const [, entry = -1, mode = 0] = numbers.subarray(row * NUMBERS, (row + 1) * NUMBERS);
  const path = (paths[row] ?? "") as WorkspacePath;
  const { at, length } = block.entries[entry] ?? { at: 0, length: -1 };
  if (length < 0) return undefined;
  try {
    using file = createIn(fs, path, { mode, folders });
    try {
      if (length > 0) fs.write(file, raw.subarray(at, at + length));
      return fs.fstat(file);
    } catch (error) {
      fs.unlink(path);
      throw error;
    }
  } catch (error) {
    if (errnoOf(error) !== undefined || error instanceof ChronicleError) return undefined;
    throw error;
  }
}

function createIn(
  fs: ConfinedFs,
  path: WorkspacePath,
  { mode, folders }: { readonly mode: number; readonly folders: BlockBatch["folders"] },
): OpenedFile {
  try {
    return fs.create(path, mode);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    makeFolders(fs, parentOf(path), folders);
    return fs.create(path, mode);
  }
}

/** Makes a folder and the missing folders above it. Other threads may make the same folders at the same time. */
function makeFolders(fs: ConfinedFs, folder: WorkspacePath, modes: BlockBatch["folders"]): void {
  if (folder === "" || fs.lstat(folder) !== undefined) return;
  makeFolders(fs, parentOf(folder), modes);
  try {
    fs.makeFolder(folder, modes.get(folder) ?? FOLDER_MODE);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}
