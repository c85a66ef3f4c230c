import { createHash } from "node:crypto";
import { hashFromBytes, hashToBytes, sha256 } from "../core/values/hash.ts";
import type { WorkspacePath } from "../core/values/path.ts";
import type { FileStat } from "../disk/disk.ts";
import type { ContentSink } from "../storage/blob-intake.ts";
import type { ConfinedFs } from "../worktree/files/confined-fs.ts";
import { readStable, type StableSink } from "../worktree/files/read-stable.ts";

// This code reads a batch of paths into a sink. Worker threads run this code for large captures, and the main thread
// runs it for small captures. Input and output are columns, because objects are slow to send between threads.

/** The paths to read. `targets` holds the target of each symlink, by position. */
export interface IngestBatch {
  readonly roots: readonly number[];
  /** Relative to their root. */
  readonly paths: readonly string[];
  readonly targets: ReadonlyMap<number, Uint8Array>;
}

/**
 * The outcome of reading one path (see `StableRead`). `database` and `unstableDatabase` stand for `read` and `unstable`
 * if the file is an SQLite database.
 */
export const OUTCOME = {
  read: 0,
  unstable: 1,
  gone: 2,
  unreadable: 3,
  other: 4,
  database: 5,
  unstableDatabase: 6,
} as const;

/** Columns of the result, one row for each path of the batch. */
export interface IngestColumns {
  readonly outcome: Uint8Array;
  /** The hashes, 32 bytes each. */
  readonly hashes: Uint8Array;
  /** The stat after the last byte was read: size, mtime (ns), ctime (ns), inode, mode. */
  readonly stats: BigInt64Array;
  /**
   * The number of bytes read of each file. This number differs from the size in the stat if the file changed during
   * every attempt.
   */
  readonly sizes: Float64Array;
  /** The errno of each unreadable path, by position. */
  readonly details: ReadonlyMap<number, string>;
  /** The number of bytes of content that were read. */
  readonly bytes: number;
}

const STAT_FIELDS = 5;

export function ingestBatch(roots: readonly ConfinedFs[], batch: IngestBatch, sink: StableSink): IngestColumns {
  const count = batch.paths.length;
  const outcome = new Uint8Array(count);
  const hashes = new Uint8Array(count * 32);
  const stats = new BigInt64Array(count * STAT_FIELDS);
  const sizes = new Float64Array(count);
  const details = new Map<number, string>();
  let bytes = 0;
  for (let i = 0; i < count; i += 1) {
    const target = batch.targets.get(i);
    if (target !== undefined) {
      hashes.set(hashToBytes(sink.small(target)), i * 32);
      continue;
    }
    const fs = roots[batch.roots[i] ?? 0];
    if (fs === undefined) throw new RangeError(`there is no root ${batch.roots[i]}`);
    const read = readStable(fs, (batch.paths[i] ?? "") as WorkspacePath, sink);
    if (read.kind === "read") {
      outcome[i] = outcomeOf(read);
      hashes.set(hashToBytes(read.hash), i * 32);
      putStat(stats, i, read.stat);
      sizes[i] = read.size;
      bytes += read.size;
    } else if (read.kind === "gone") outcome[i] = OUTCOME.gone;
    else if (read.kind === "other") outcome[i] = OUTCOME.other;
    else {
      outcome[i] = OUTCOME.unreadable;
      details.set(i, read.detail);
    }
  }
  return { outcome, hashes, stats, sizes, details, bytes };
}

function outcomeOf({ unstable, isDatabase }: { readonly unstable: boolean; readonly isDatabase: boolean }): number {
  if (isDatabase) return unstable ? OUTCOME.unstableDatabase : OUTCOME.database;
  return unstable ? OUTCOME.unstable : OUTCOME.read;
}

function putStat(stats: BigInt64Array, row: number, stat: FileStat): void {
  const at = row * STAT_FIELDS;
  stats[at] = BigInt(stat.size);
  stats[at + 1] = stat.mtimeNs;
  stats[at + 2] = stat.ctimeNs;
  stats[at + 3] = stat.ino;
  stats[at + 4] = BigInt(stat.mode);
}

/**
 * Returns the stat of a row. Takes the fields that the columns lack (device, owner, links) from the stat of the scan.
 */
export function statOfRow(columns: IngestColumns, row: number, scanned: FileStat): FileStat {
  const at = row * STAT_FIELDS;
  const { stats } = columns;
  const ino = BigInt.asUintN(64, stats[at + 3] ?? 0n);
  const same = stats[at + 1] === scanned.mtimeNs && stats[at + 2] === scanned.ctimeNs && ino === scanned.ino;
  const mode = Number(stats[at + 4]);
  if (same && Number(stats[at]) === scanned.size && mode === scanned.mode) return scanned;
  return {
    ...scanned,
    size: Number(stats[at]),
    mtimeNs: stats[at + 1] ?? 0n,
    ctimeNs: stats[at + 2] ?? 0n,
    ino,
    mode,
  };
}

/** Returns a sink that stores the contents. A large file is cloned if the file system can do that. */
export function storingSink(sink: ContentSink): StableSink {
  return {
    small: (content) => sink.put(content),
    large: (pieces, { fd }) => sink.putLarge(pieces, `/proc/self/fd/${fd}`),
  };
}

/** A sink that only hashes, for scans that record nothing. */
export const hashingSink: StableSink = {
  small: (content) => sha256(content),
  large: (pieces) => {
    const hash = createHash("sha256");
    let size = 0;
    for (const piece of pieces) {
      hash.update(piece);
      size += piece.length;
    }
    return { hash: hashFromBytes(hash.digest()), size };
  },
};
