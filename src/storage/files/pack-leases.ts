import type { Disk } from "../../disk/disk.ts";
import { writeFully } from "../../disk/write-fully.ts";
import type { BlobIndex, PackRow } from "../blob-index.ts";
import { withTrouble, ioTrouble } from "../io-trouble.ts";
import { encodePackHeader, PACK_HEADER_BYTES } from "../block.ts";
import type { BlobLayout } from "../layout.ts";
import type { LaneGrant } from "../blob-intake.ts";
import { checkTail, damagedIn, readAt, readBlock, readPackUlid, rowsByHeads, scanPack } from "./pack-scan.ts";
import { makeNamesSure, type UnsureNames, writeAnew, writeOnceMore } from "./sure-names.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { HeldLock, Lock } from "../lock.ts";

/** The maximum number of lanes of a store, and therefore of its simultaneous writers. */
const MAX_LANES = 1024;

export interface BlobFiles {
  readonly disk: Disk;
  readonly layout: BlobLayout;
  readonly index: BlobIndex;
  readonly newPackId: () => string;
  readonly unsure: UnsureNames;
}

export interface PackLease {
  /** The grant for the one writer of the lane, which may be in a worker thread. */
  readonly grant: LaneGrant;
  /** Releases the lane. The lane's writer must be closed first. */
  release(): void;
}

/**
 * Takes lanes for this process. A lane is a place (`activePack`) for one pack, to which one holder at a time appends.
 * Taking a lane makes it ready for appending (`settleLane`).
 */
export class PackLeases {
  readonly #files: BlobFiles;
  readonly #lockOf: (path: string) => Lock;
  readonly #mine = new Map<number, () => void>();
  /**
   * Maps each lane that this object has released to the lock of the lane. The lock stays open, because opening a lock
   * takes longer than acquiring it.
   */
  readonly #idle = new Map<number, Lock>();
  readonly #seen = new Map<number, SeenPack>();

  constructor(files: BlobFiles, lockOf: (path: string) => Lock) {
    this.#files = files;
    this.#lockOf = lockOf;
  }

  /** Takes the free lane with the lowest number. Throws `LOCKED` if no lane is free. */
  async take(): Promise<PackLease> {
    for (let lane = 0; lane < MAX_LANES; lane++) {
      const held = await this.tryTake(lane);
      if (held !== undefined) return held;
    }
    throw new ChronicleError("LOCKED", `all ${MAX_LANES} lanes of ${this.#files.layout.active} are in use`);
  }

  /**
   * Takes this lane. Returns `undefined` if the lane is already held by this object, by another object or by another
   * process.
   */
  async tryTake(lane: number): Promise<PackLease | undefined> {
    if (this.#mine.has(lane)) return undefined;
    const lock = this.#idle.get(lane) ?? this.#lockOf(this.#files.layout.laneLock(lane));
    this.#idle.delete(lane);
    const drop = (): void => {
      this.#mine.delete(lane);
      lock.close();
    };
    this.#mine.set(lane, drop);
    try {
      const held = await tryLock(lock);
      if (held === undefined) {
        drop();
        return undefined;
      }
      const release = (): void => {
        if (!this.#mine.delete(lane)) return;
        held.release();
        this.#idle.set(lane, lock);
      };
      this.#mine.set(lane, release);
      return { grant: settleLane(this.#files, lane, this.#seen), release };
    } catch (error) {
      drop();
      throw ioTrouble(error, `taking lane ${lane} of ${this.#files.layout.active}`);
    }
  }

  get count(): number {
    return this.#mine.size;
  }

  holds(lane: number): boolean {
    return this.#mine.has(lane);
  }

  close(): void {
    for (const release of [...this.#mine.values()]) release();
    for (const lock of this.#idle.values()) lock.close();
    this.#idle.clear();
  }
}

async function tryLock(lock: Lock): Promise<HeldLock | undefined> {
  try {
    return await lock.exclusive(0);
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "LOCKED") return undefined;
    throw error;
  }
}

interface Parts {
  readonly disk: Disk;
  readonly layout: BlobLayout;
  readonly index: BlobIndex;
  readonly newPackId: () => string;
  readonly unsure: UnsureNames;
}

interface SeenPack {
  readonly ino: bigint;
  readonly ulid: string;
}

/**
 * Makes a lane ready for appending, and returns its grant. The caller holds the lane's lock. `seen`: maps each lane to
 * the file that an earlier call found in it. This call updates the map, so that later calls need not read the same
 * header again.
 *
 * The index states how many bytes of the pack are settled: durable and checked. The bytes after the settled bytes are
 * the tail. The contents in the tail are compared with their hashes. The blocks before the first damaged block are made
 * durable and published. The damaged block and everything after it are cut off.
 *
 * If the index does not know the pack, or states more bytes than exist, no byte counts as settled. In these cases, the
 * damaged bytes may have been durable long before the last write. A pack with sound contents after the damage is
 * therefore sealed unchanged.
 */
export function settleLane(parts: Parts, lane: number, seen: Map<number, SeenPack>): LaneGrant {
  const path = parts.layout.activePack(lane);
  return withTrouble(`recovering ${path}`, () => {
    if (parts.unsure.has(path)) writeAnew(parts, path);
    const stat = parts.disk.lstat(path);
    if (stat === undefined) return { lane, pack: undefined };
    const { ino, size } = stat;
    const before = seen.get(lane);
    const known = before?.ino === ino ? parts.index.packOf(before.ulid) : undefined;
    if (known?.lane === lane && known.bytes === size) return { lane, pack: { ulid: known.ulid, bytes: size } };
    const fd = parts.disk.open(path, "update");
    try {
      const pack = settlePack(parts, { fd, lane, size });
      if (pack !== undefined) seen.set(lane, { ino, ulid: pack.ulid });
      return { lane, pack };
    } finally {
      parts.disk.close(fd);
    }
  });
}

interface LaneFile {
  readonly fd: number;
  readonly lane: number;
  readonly size: number;
}

function settlePack(parts: Parts, file: LaneFile): LaneGrant["pack"] {
  const { disk, index } = parts;
  const ulid = readPackUlid(disk, file.fd);
  const row = ulid === undefined ? index.packs().find((pack) => pack.lane === file.lane) : index.packOf(ulid);
  if (ulid === undefined) return settleWithoutHeader(parts, file, row);
  if (row?.lane === file.lane && row.bytes === file.size) return { ulid, bytes: file.size };

  const isTail = row !== undefined && row.bytes >= PACK_HEADER_BYTES && row.bytes < file.size;
  const from = isTail ? row.bytes : PACK_HEADER_BYTES;
  const { rows, end } = checkTail(disk, file.fd, from, file.size);
  if (!isTail && hasSoundContent(disk, file.fd, end, file.size)) return sealAsItIs(parts, file, { ulid, row });
  keepTail(parts, file, { from, end });
  const forgetPacks = row === undefined || isTail ? [] : [row.id];
  index.apply({ forgetPacks, packs: [{ ulid, lane: file.lane, bytes: end }], rows });
  return { ulid, bytes: end };
}

/**
 * Makes the sound part of the tail durable, and cuts off the bytes after it. Writes this part again before the sync:
 * after a failed sync, the system can mark pages as clean although they never reached the disk.
 */
function keepTail(
  parts: Parts,
  { fd, lane, size }: LaneFile,
  tail: { readonly from: number; readonly end: number },
): void {
  const { disk, layout } = parts;
  // If no block of a pack is settled, the header of the pack may not be durable either. Write the header again, too.
  writeOnceMore(disk, fd, tail.from === PACK_HEADER_BYTES ? 0 : tail.from, tail.end);
  if (tail.end < size) disk.truncate(fd, tail.end);
  disk.sync(fd);
  makeNamesSure(parts, [layout.active], [layout.activePack(lane)]);
}

/**
 * Settles a lane in which the header of the pack cannot be read. Removes the pack if it has no sound content. Writes a
 * new header if the header is all zeros and the index does not know the pack. A power cut leaves such zeros if the
 * header had not reached the disk. Seals any other pack unchanged, so that `verify` reports the damage.
 */
function settleWithoutHeader(parts: Parts, file: LaneFile, row: PackRow | undefined): LaneGrant["pack"] {
  const { disk, layout, newPackId } = parts;
  if (!hasSoundContent(disk, file.fd, 0, file.size)) {
    disk.unlink(layout.activePack(file.lane));
    return undefined;
  }
  if (row === undefined && isAllZeros(readAt(disk, file.fd, 0, PACK_HEADER_BYTES))) {
    writeFully(disk, file.fd, encodePackHeader(newPackId()), 0);
    return settlePack(parts, file);
  }
  // `row` may belong to the previous pack of the lane, if that pack was sealed without an update of the index. Then
  // choose a new ULID, so that the file of the previous pack is not replaced.
  const isTaken = row === undefined || disk.lstat(layout.sealedPack(row.ulid)) !== undefined;
  return sealAsItIs(parts, file, { ulid: isTaken ? newPackId() : row.ulid, row: undefined });
}

function isAllZeros(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}

function sealAsItIs(
  parts: Parts,
  { fd, lane, size }: LaneFile,
  { ulid, row }: { readonly ulid: string; readonly row: PackRow | undefined },
): undefined {
  const { disk, layout, index } = parts;
  writeOnceMore(disk, fd, 0, size);
  disk.sync(fd);
  disk.rename(layout.activePack(lane), layout.sealedPack(ulid));
  makeNamesSure(parts, [layout.packs, layout.active], [layout.sealedPack(ulid)]);
  const rows = rowsByHeads(disk, fd, PACK_HEADER_BYTES, size);
  index.apply({
    forgetPacks: row === undefined ? [] : [row.id],
    packs: [{ ulid, lane: undefined, bytes: size }],
    rows,
  });
  return undefined;
}

function hasSoundContent(disk: Disk, fd: number, from: number, to: number): boolean {
  for (const part of scanPack(disk, fd, from, to)) {
    if (part.kind === "garbage") continue;
    const damaged = damagedIn(part.head, readBlock(disk, fd, part.offset, part.head));
    if (damaged.length < part.head.entries.length) return true;
  }
  return false;
}
