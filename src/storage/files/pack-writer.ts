import type { Disk } from "../../disk/disk.ts";
import { writeFully } from "../../disk/write-fully.ts";
import type { PackState } from "../blob-index.ts";
import { poisoned } from "./blob-trouble.ts";
import { ioTrouble, withTrouble } from "../io-trouble.ts";
import { encodePackHeader, PACK_HEADER_BYTES, type EncodedBlock } from "../block.ts";
import type { BlobLayout } from "./layout.ts";
import type { UnsureNames } from "./sure-names.ts";

/** A pack is sealed by the first append that finds it this long, in bytes. */
const SEAL_BYTES = 64 * 1024 * 1024;
/** Below this, head and contents are joined for one write; above, copying costs more than a second write. */
const JOIN_BYTES = 512 * 1024;

/** The right to append to a lane, and what is in it. Can be sent to a worker thread. */
export interface LaneGrant {
  readonly lane: number;
  /** The pack that lies there, all of it settled, or `undefined` when there is none. */
  readonly pack: { readonly ulid: string; readonly bytes: number } | undefined;
}

/** What a writer of packs is made of. */
export interface PackParts {
  readonly disk: Disk;
  readonly layout: BlobLayout;
  /** A new ULID. */
  readonly newPackId: () => string;
  /** Takes the files whose names a sync has failed to make durable. Default: nobody asks. */
  readonly unsure?: UnsureNames;
}

/** Where a block was put. */
export interface PlacedBlock {
  readonly ulid: string;
  readonly offset: number;
}

/**
 * Appends blocks to the packs of one lane, synchronously. Whoever has one holds the lock of the lane.
 *
 * - A write that fails is cut off again, and the writer goes on working. A sync that fails poisons it.
 * - A pack that has grown to 64 MiB is synced, renamed to its ULID, and a new one begun.
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
  /** Bytes of whole blocks; what stands behind them is the rest of a write that failed. */
  #end: number;
  #syncedEnd: number;
  /** Up to here it is being synced beside. */
  #syncingEnd: number | undefined;
  #nameIsNew = false;
  #restBehindEnd = false;
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

  /** Did a sync fail? */
  get poisoned(): boolean {
    return this.#poisoned;
  }

  /** The lane as it is now, for the next writer. Only what is synced counts. */
  get grant(): LaneGrant {
    const pack = this.#ulid === undefined ? undefined : { ulid: this.#ulid, bytes: this.#syncedEnd };
    return { lane: this.lane, pack };
  }

  /** How far a pack of this writer is durable. */
  stateOf(ulid: string): PackState {
    return this.#sealed.get(ulid) ?? { ulid, lane: this.lane, bytes: this.#syncedEnd };
  }

  /** Appends a block. It is durable after the next `sync`. */
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

  /** Makes everything appended durable, and the name of a new pack. */
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
   * The same beside what else this thread does. Blocks may be appended meanwhile: they are durable after the next sync. Until it
   * has ended there must be no other, the pack is not sealed, and the writer not closed. A full pack is sealed first: where
   * one such sync follows the other, no append might ever find a moment for that.
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

  /** Renames the pack of the lane to its ULID, durably. The next block begins a new one. */
  seal(): void {
    this.#mustBeSound();
    withTrouble(`sealing ${this.#layout.activePack(this.lane)}`, () => this.#seal());
  }

  /**
   * Takes back blocks, last first, for as long as each is the last of the lane and not yet synced, nor about to be: what is
   * synced may have been published by another batch.
   */
  takeBack(blocks: readonly { readonly ulid: string; readonly offset: number; readonly bytes: number }[]): void {
    for (const block of blocks.toReversed()) {
      const isLast = block.ulid === this.#ulid && block.offset + block.bytes === this.#end;
      if (!isLast || block.offset < (this.#syncingEnd ?? this.#syncedEnd) || this.#poisoned) return;
      this.#end = block.offset;
      this.#restBehindEnd = true;
      // At once: whole blocks behind the end must not be taken for a tail that was written and is to be kept.
      if (this.#fd !== undefined) this.#cutRest(this.#fd);
    }
  }

  /** Does a sync of another file of the store, or of the folder that holds `name`; its failure poisons this writer too. */
  guard(sync: () => void, name?: string): void {
    this.#mustBeSound();
    this.#orPoison(name === undefined ? sync : () => this.#orUnsure(name, sync));
  }

  /** Closes the file. The writer may be used again: it opens the file anew. */
  close(): void {
    if (this.#fd === undefined) return;
    if (this.#restBehindEnd) this.#cutRest(this.#fd);
    this.#disk.close(this.#fd);
    this.#fd = undefined;
  }

  #seal(): void {
    const ulid = this.#ulid;
    if (ulid === undefined) return;
    const fd = this.#open();
    if (this.#restBehindEnd) this.#disk.truncate(fd, this.#end);
    this.#restBehindEnd = false;
    // Whatever was cut off since the last sync, by whomever: nobody looks for a tail in a sealed pack.
    this.#orPoison(() => this.#disk.sync(fd));
    this.sync();
    this.#disk.rename(this.#layout.activePack(this.lane), this.#layout.sealedPack(ulid));
    this.#sealed.set(ulid, { ulid, lane: undefined, bytes: this.#end });
    this.close();
    this.#ulid = undefined;
    this.#end = 0;
    this.#syncedEnd = 0;
    const syncNames = (): void => {
      // The new name first: a file system that orders the two by itself must not lose both.
      this.#disk.syncFolder(this.#layout.packs);
      this.#disk.syncFolder(this.#layout.active);
    };
    this.#orPoison(() => this.#orUnsure(this.#layout.sealedPack(ulid), syncNames));
  }

  #write(fd: number, { head, stored }: EncodedBlock): void {
    if (this.#restBehindEnd) this.#disk.truncate(fd, this.#end);
    this.#restBehindEnd = false;
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
      this.#restBehindEnd = true;
      this.#cutRest(fd);
      throw error;
    }
  }

  #cutRest(fd: number): void {
    try {
      this.#disk.truncate(fd, this.#end);
      this.#restBehindEnd = false;
    } catch {
      // The next write tries again before it writes; until then the rest is an unpublished tail, which nobody reads.
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
    // What a failed attempt of this writer may have left.
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

  /** Does a sync that makes a name durable; notes the name if it fails. */
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

  /** What is to be thrown for a sync that failed. */
  #poison(error: unknown): unknown {
    this.#poisoned = true;
    // What the disk said it could not keep must not be found whole in the page cache by the next one who looks.
    this.#end = Math.max(this.#syncedEnd, 0);
    if (this.#fd !== undefined) this.#cutRest(this.#fd);
    return ioTrouble(error, `syncing ${this.#layout.folder}`);
  }

  #mustBeSound(): void {
    if (this.#poisoned) throw poisoned("the blob store", { why: "what was written with it is given up" });
  }
}

/** Both, where they stand behind each other already: a block that has come from another store. */
function inOnePiece(head: Uint8Array, stored: Uint8Array): Uint8Array | undefined {
  if (head.buffer !== stored.buffer || head.byteOffset + head.length !== stored.byteOffset) return undefined;
  return new Uint8Array(head.buffer, head.byteOffset, head.length + stored.length);
}
