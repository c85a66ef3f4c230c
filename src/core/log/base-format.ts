import type { Entry } from "../values/entry.ts";
import type { EventOp, RecordBody } from "../values/event.ts";
import type { Hash } from "../values/hash.ts";
import type { WorkspacePath } from "../values/path.ts";

/**
 * The format of a base, on which a log starts or continues. A base is one blob with all entries of a workspace and its
 * other live records. This file has the types and the layout that `encodeBase` and `decodeBase` (`base.ts`) share.
 *
 * All numbers are big-endian. A u64 is a number from 0 to 2^53−1 in eight bytes. An i64 is a number within ±(2^53−1) in
 * eight bytes, in two's complement.
 *
 *     header    magic "CHRBASE\n" · version u32 = 2 · root, 32 bytes · entry rows u64 · record rows u64
 *               · number of roots u16 · per root: id length u8 · id · folder hash, 32 bytes
 *     sections  per root, in the header's order: 'R' (0x52), then its entry rows
 *     records   the record rows, by ascending seq
 *
 *     entry row   kind byte: 'f' (file), 'p' (protected file), 'l' (link), 'd' (folder) or 'x' (deleted)
 *                 · depth u16 · name length u16 · name · iteration u64 · seq u64
 *                 f, p, l: mode u16 · hash, 32 bytes · size u64 · mtime in whole ms, i64
 *                          · the rest of the mtime below one ms, in ns, u32 (not in version 1)
 *                 d: mode u16 · folder hash, 32 bytes
 *     record row  'r' (0x72) · length u32 · canonical JSON {op, record, record_id, recursion_depth?, seq, ts}
 *
 * Roots are in `comparePaths` order: further roots by id, then the first root, whose id is empty. A row of depth 1 is
 * directly in the root. The folder of a deeper row is the nearest earlier row in the same section whose depth is
 * smaller by one. A live row (any kind but 'x') must be in a live folder. The names in one folder ascend by bytes, so
 * no path can occur twice.
 */

export const BASE_MAGIC = Buffer.from("CHRBASE\n", "latin1");
export const BASE_VERSION = 2;
/** The previous version, in which times are whole milliseconds. Bases of this version can still be read. */
export const BASE_VERSION_MS = 1;
export const ROOT_TAG = 0x52;
export const RECORD_TAG = 0x72;
export const DELETED_TAG = 0x78;
/** The kind byte of a file of the class `protected`. In a Merkle root, such a file counts like any other file. */
export const PROTECTED_TAG = 0x70;

/** The length, in bytes, of the part of the header that precedes the list of roots. */
export const HEADER_FIXED = 8 + 4 + 32 + 8 + 8 + 2;

export interface BaseEntry {
  readonly path: WorkspacePath;
  /** The number of the iteration. Each path counts from 1, and later iterations continue the count. */
  readonly iteration: number;
  /** The seq of the event that recorded this iteration. */
  readonly seq: number;
  /** The state; `undefined` if the path is deleted. Deleted paths are kept so that their iteration numbers continue. */
  readonly entry: Entry | undefined;
  /**
   * Only for a live folder: the Merkle hash of the folder. An index can take over this hash instead of computing it.
   * `verify` recomputes the hash.
   */
  readonly folderHash?: Hash;
}

/** The last event of a record other than a file record. The states of files are in entry rows instead. */
export interface BaseRecord {
  readonly recordId: string;
  readonly seq: number;
  readonly ts: string;
  readonly op: EventOp;
  readonly record: RecordBody;
  /** The event's recursion depth; omitted for 0. Bases of earlier versions do not have this field. */
  readonly recursionDepth?: number;
}

/** One tracked root: its id (`""`: the first root) and its folder's Merkle hash. */
export interface BaseRoot {
  readonly id: string;
  readonly hash: Hash;
}

/** The header of a base. `root` is the Merkle root of the workspace. */
export interface BaseHeader {
  readonly root: Hash;
  readonly roots: readonly BaseRoot[];
  readonly counts: BaseCounts;
}

/** The numbers of entry rows and of record rows. Deleted paths have entry rows, too. */
export interface BaseCounts {
  readonly entries: number;
  readonly records: number;
}

/** Returns the folder of a root as a path: `""` for the first root, else `\0<id>`. */
export function rootFolder(id: string): WorkspacePath {
  return (id === "" ? "" : `\0${id}`) as WorkspacePath;
}
