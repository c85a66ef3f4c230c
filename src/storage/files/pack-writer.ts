import type { Disk } from "../../disk/disk.ts";
import { writeFully } from "../../disk/write-fully.ts";
import type { PackState } from "../blob-index.ts";
import type { LaneGrant } from "../blob-intake.ts";
import { poisoned } from "./blob-trouble.ts";
import { ioTrouble, withTrouble } from "../io-trouble.ts";
import { encodePackHeader, PACK_HEADER_BYTES, type EncodedBlock } from "../block.ts";
import type { BlobLayout } from "../layout.ts";
import type { UnsureNames } from "./sure-names.ts";

/** The size, in bytes, at which a pack is full. The next append or the next background sync seals a full pack. */
const SEAL_BYTES = 64 * 1024 * 1024;
/**
 * The maximum length, in bytes, of a block whose head and contents are joined for one write. For a longer block,
 * joining takes more time than a second write.
 */
const JOIN_BYTES = 512 * 1024;

export interface PackParts {
  readonly disk: Disk;
  readonly layout: BlobLayout;
  readonly newPackId: () => string;
  /**
   * The set to which the writer adds each file whose name may not be durable because a sync of its folder failed.
   * Default: such files are not noted.
   */
  readonly unsure?: UnsureNames;
}

export interface PlacedBlock {
  readonly ulid: string;
  readonly offset: number;
}

/**
 * Appends blocks to the packs of one lane, synchronously. A lane holds one pack at a time, to which one writer appends
 * (see `PackLeases`). The owner of a writer holds the lock of the lane.
 *
 * - The bytes of a failed write are cut off, and the writer stays usable. A failed sync poisons the writer.
 * - A pack that has grown to 64 MiB is synced and renamed to its ULID. The next block begins a new pack.
 */
export class PackWriter {
  readonly lane: number;
  readonly #disk: Disk;
  readonly #layout: BlobLayout;
  readonly #newPackId: () => string;
  readonly #unsure: UnsureNames;
  readonly #sealed = new Map<string, PackState>();
  #fd: number | undefined;
  #ulid: string | undefined;
  /**
   * The offset at which the last block ends. All bytes after this offset come from a failed write, or from blocks that
   * `takeBack` has removed.
   */
  #end: number;
  #syncedEnd: number;
  #syncingEnd: number | undefined;
  #nameIsNew = false;
  /** True if bytes after `#end` must be cut off. */
  #hasRest = false;
  #poisoned = false;

  constructor({ disk, layout, newPackId, unsure }: PackParts, grant: LaneGrant) {
    this.#disk = disk;
    this.#layout = layout;
    this.#newPackId = newPackId;
    this.#unsure = unsure ?? new Set();
    this.lane = grant.lane;
    this.#ulid = grant.pack?.ulid;
    this.#end = grant.pack?.bytes ?? 0;
    this.#syncedEnd = this.#end;
  }

  get poisoned(): boolean {
    return this.#poisoned;
  }

  /** The grant for the next writer, with the synced bytes of the pack. */
  get grant(): LaneGrant {
    const pack = this.#ulid === undefined ? undefined : { ulid: this.#ulid, bytes: this.#syncedEnd };
    return { lane: this.lane, pack };
  }

  stateOf(ulid: string): PackState {
    return this.#sealed.get(ulid) ?? { ulid, lane: this.lane, bytes: this.#syncedEnd };
  }

  /** Appends a block, which is durable after the next `sync`. */
  append(block: EncodedBlock): PlacedBlock {
    this.#mustBeSound();
    return withTrouble(`writing ${this.#layout.activePack(this.lane)}`, () => {
      if (this.#ulid !== undefined && this.#end >= SEAL_BYTES && this.#syncingEnd === undefined) this.seal();
      const fd = this.#open();
      const offset = this.#end;
      this.#write(fd, block);
      return { ulid: this.#ulid ?? "", offset };
    });
  }

  /** Makes all appended blocks durable, and also the name of a new pack. */
  sync(): void {
    this.#mustBeSound();
    const fd = this.#fd;
    if (fd === undefined || (this.#syncedEnd === this.#end && !this.#nameIsNew)) return;
    this.#orPoison(() => {
      this.#disk.sync(fd);
      this.#syncNewName();
    });
    this.#nameIsNew = false;
    this.#syncedEnd = this.#end;
  }

  /**
   * Does what `sync` does, in the background. Blocks that are appended meanwhile are durable after the next sync. The
   * caller must not sync or close the writer meanwhile. Seals a full pack first. Appends cannot seal a pack during a
   * background sync, so a pack could otherwise grow without limit while one background sync follows another.
   */
  async syncBeside(): Promise<void> {
    this.#mustBeSound();
    if (this.#ulid !== undefined && this.#end >= SEAL_BYTES) this.seal();
    const [fd, end] = [this.#fd, this.#end];
    if (fd === undefined || (this.#syncedEnd === end && !this.#nameIsNew)) return;
    this.#syncingEnd = end;
    try {
      await this.#disk.syncBeside(fd);
      this.#mustBeSound();
      this.#syncNewName();
    } catch (error) {
      throw this.#poison(error);
    } finally {
      this.#syncingEnd = undefined;
    }
    this.#nameIsNew = false;
    this.#syncedEnd = end;
  }

  /** Renames the pack of the lane to its ULID, durably. The next block begins a new pack. */
  seal(): void {
    this.#mustBeSound();
    withTrouble(`sealing ${this.#layout.activePack(this.lane)}`, () => this.#seal());
  }

  /**
   * Removes blocks, the last block first. Stops at a block that is not the last block of the lane, or that is synced or
   * being synced. A synced block stays, because another batch may have published it.
   */
  takeBack(blocks: readonly { readonly ulid: string; readonly offset: number; readonly bytes: number }[]): void {
    for (const block of blocks.toReversed()) {
      const isLast = block.ulid === this.#ulid && block.offset + block.bytes === this.#end;
      if (!isLast || block.offset < (this.#syncingEnd ?? this.#syncedEnd) || this.#poisoned) return;
      this.#end = block.offset;
      this.#hasRest = true;
      // Cut off the blocks at once, so that `settleLane` does not publish them as a sound tail.
      if (this.#fd !== undefined) this.#cutRest(this.#fd);
    }
  }

  /** Runs a sync of a large file, or of a folder. If the sync fails, poisons this writer. `name`: see `SyncGuard`. */
  guard(sync: () => void, name?: string): void {
    this.#mustBeSound();
    this.#orPoison(name === undefined ? sync : () => this.#orUnsure(name, sync));
  }

  /** Closes the file. The next append opens it again. */
  close(): void {
    if (this.#fd === undefined) return;
    if (this.#hasRest) this.#cutRest(this.#fd);
    this.#disk.close(this.#fd);
    this.#fd = undefined;
  }

  #seal(): void {
    const ulid = this.#ulid;
    if (ulid === undefined) return;
    const fd = this.#open();
    if (this.#hasRest) this.#disk.truncate(fd, this.#end);
    this.#hasRest = false;
    // Sync the file first. Otherwise, a crash could bring back bytes that were cut off, and a sealed pack must have no
    // torn tail.
    this.#orPoison(() => this.#disk.sync(fd));
    this.sync();
    this.#disk.rename(this.#layout.activePack(this.lane), this.#layout.sealedPack(ulid));
    this.#sealed.set(ulid, { ulid, lane: undefined, bytes: this.#end });
    this.close();
    this.#ulid = undefined;
    this.#end = 0;
    this.#syncedEnd = 0;
    const syncNames = (): void => {
      // The folder with the new name is synced first, so that the pack has at least one name after a crash.
      this.#disk.syncFolder(this.#layout.packs);
      this.#disk.syncFolder(this.#layout.active);
    };
    this.#orPoison(() => this.#orUnsure(this.#layout.sealedPack(ulid), syncNames));
  }

  #write(fd: number, { head, stored }: EncodedBlock): void {
    if (this.#hasRest) this.#disk.truncate(fd, this.#end);
    this.#hasRest = false;
    const bytes = head.length + stored.length;
    try {
      const whole =
        inOnePiece(head, stored) ?? (bytes <= JOIN_BYTES ? Buffer.concat([head, stored], bytes) : undefined);
      if (whole !== undefined) {
        writeFully(this.#disk, fd, whole, this.#end);
      } else {
        writeFully(this.#disk, fd, head, this.#end);
        writeFully(this.#disk, fd, stored, this.#end + head.length);
      }
      this.#end += bytes;
    } catch (error) {
      this.#cutRest(fd);
      throw error;
    }
  }

  /** Cuts off the bytes after `#end`. */
  #cutRest(fd: number): void {
    this.#hasRest = true;
    try {
      this.#disk.truncate(fd, this.#end);
      this.#hasRest = false;
    } catch {
      // The bytes stay as an unpublished tail, which nobody reads. The next write or `close` cuts them off, or the next
      // holder of the lane handles them (`settleLane`).
    }
  }

  #open(): number {
    if (this.#fd !== undefined) return this.#fd;
    const fd = this.#disk.open(this.#layout.activePack(this.lane), "update", 0o600);
    try {
      if (this.#ulid === undefined) this.#begin(fd);
    } catch (error) {
      this.#disk.close(fd);
      throw error;
    }
    this.#fd = fd;
    return fd;
  }

  #begin(fd: number): void {
    const ulid = this.#newPackId();
    // A failed earlier attempt of this writer may have left bytes in the file.
    if (this.#disk.fstat(fd).size > 0) this.#disk.truncate(fd, 0);
    writeFully(this.#disk, fd, encodePackHeader(ulid), 0);
    this.#ulid = ulid;
    this.#end = PACK_HEADER_BYTES;
    this.#syncedEnd = 0;
    this.#nameIsNew = true;
  }

  #syncNewName(): void {
    if (!this.#nameIsNew) return;
    this.#orUnsure(this.#layout.activePack(this.lane), () => this.#disk.syncFolder(this.#layout.active));
  }

  #orUnsure(name: string, sync: () => void): void {
    try {
      sync();
      this.#unsure.delete(name);
    } catch (error) {
      this.#unsure.add(name);
      throw error;
    }
  }

  #orPoison(action: () => void): void {
    try {
      action();
    } catch (error) {
      throw this.#poison(error);
    }
  }

  /** Poisons the writer, cuts off the bytes that are not synced, and returns the error to throw. */
  #poison(error: unknown): unknown {
    this.#poisoned = true;
    // Cut off the bytes that did not reach the disk. Otherwise, later reads would find them in the page cache.
    this.#end = Math.max(this.#syncedEnd, 0);
    if (this.#fd !== undefined) this.#cutRest(this.#fd);
    return ioTrouble(error, `syncing ${this.#layout.folder}`);
  }

  #mustBeSound(): void {
    if (this.#poisoned) throw poisoned("the blob store", { why: "the contents of that sync were dropped" });
  }
}

/** Returns both parts as one array if they are adjacent in memory, as in a block from another store. */
function inOnePiece(head: Uint8Array, stored: Uint8Array): Uint8Array | undefined {
  if (head.buffer !== stored.buffer || head.byteOffset + head.length !== stored.byteOffset) return undefined;
  return new Uint8Array(head.buffer, head.byteOffset, head.length + stored.length);
}
